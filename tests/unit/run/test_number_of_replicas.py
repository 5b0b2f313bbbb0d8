"""The error of a program that is written for another number of replicas names the option."""

from __future__ import annotations

import pytest

from tpulint.run.failure import other_number_of_replicas

MESSAGES = [
    (
        "TPUConfig.num_shards is not set correctly. According to TPU system metadata for "
        "Tensorflow master (): num_replicas should be (2), got (8). For non-",
        2,
        "The program asks for 8 replicas, and the emulated TPU has 2: --replicas 8",
    ),
    (
        "Requested num_replicas=8 but there are only 2 cores in the TPU topology.",
        2,
        "The program asks for 8 replicas, and the emulated TPU has 2: --replicas 8",
    ),
    (
        "requested 4 replicas but only 2 replicas with shape [1 1 1 2] and computation_stride "
        "[1 1 1 1] fit in a TPU mesh of shape [2 1 1 2]",
        4,
        "The program asks for 4 replicas, and the emulated TPU has 2: --replicas 8",
    ),
    (
        "TPUReplicate asked to create 4 replicas, but the number of cores in the TPU topology is 8 "
        "and no TPU device assignment was supplied.",
        8,
        "The program asks for 4 replicas, and the emulated TPU has 8: --replicas 4",
    ),
    (
        "The `global_batch_size` 100 is not divisible by `num_replicas_in_sync` 8 ",
        8,
        "A batch of 100 rows cannot be divided among 8 replicas, but among 5: --replicas 5",
    ),
    (
        "The `global_batch_size` 7 is not divisible by `num_replicas_in_sync` 2 ",
        4,
        "A batch of 7 rows cannot be divided among 2 replicas, but among 1: --replicas 2",
    ),
    (
        "The `global_batch_size` 7 is not divisible by `num_replicas_in_sync` 2 ",
        None,
        "A batch of 7 rows cannot be divided among 2 replicas",
    ),
    (
        "Requested num_replicas=8 but there are only 4 cores in the TPU topology.",
        None,
        "The program asks for 8 replicas, and the emulated TPU has 4",
    ),
]


@pytest.mark.parametrize(("message", "cores", "line"), MESSAGES)
def test_which_number_fits(message: str, cores: int | None, line: str) -> None:
    error = RuntimeError("the program's own")
    error.__cause__ = ValueError(message)
    assert list(other_number_of_replicas(error, cores)) == [line]


def test_no_line_about_other_errors() -> None:
    assert not list(other_number_of_replicas(ValueError("8 replicas, 2 cores"), 2))
    assert not list(other_number_of_replicas(None, 2))
