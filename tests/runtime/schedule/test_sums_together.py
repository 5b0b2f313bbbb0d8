"""The sums for which replicas meet at once: those that are ready at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.tpu.ops import tpu_ops

from tests.runtime.execute.tensorflows_marks import marked_by_tensorflow, outside_compilation
from tpulint.runtime.emulator import Options
from tpulint.runtime.extract.program import extract
from tpulint.runtime.schedule.schedule import Schedule, schedule

total = tpu_ops.cross_replica_sum


def scheduled(computation: Callable[[Any], Any]) -> Schedule:
    with tf.Graph().as_default():
        inputs = [[tf.constant([1.0, 2.0])]] * 4
        return schedule(extract(marked_by_tensorflow(computation, inputs)), Options())


def sizes(computation: Callable[[Any], Any]) -> list[int]:
    """The numbers of collectives in the meetings of `computation`."""
    return [len(meeting) for meeting in scheduled(computation).rendezvous]


def test_the_gradients_of_a_step_are_summed_at_once() -> None:
    def computation(x: Any) -> Any:
        weights = [
            tf.compat.v1.get_variable(f"w{place}", [2], use_resource=True) for place in range(9)
        ]
        loss = tf.reduce_sum(tf.add_n([tf.sin(weight * x) for weight in weights]))
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        return tf.compat.v1.tpu.CrossShardOptimizer(optimizer).minimize(loss)

    assert sizes(computation) == [9]


def test_sums_of_several_dtypes_are_one_meeting() -> None:
    assert sizes(lambda x: [total(tf.exp(x)), total(tf.cast(x, tf.int32))]) == [2]


def test_a_sum_of_a_sum_is_a_meeting_of_its_own() -> None:
    assert sizes(lambda x: total(total(x)) + total(tf.sin(total(x)))) == [2, 1, 1]


def test_sums_wait_for_no_host_cluster_that_only_others_need() -> None:
    def computation(x: Any) -> Any:
        y = tf.exp(x)
        return total(y) + total(outside_compilation(tf.sin, y)) + total(y * 2.0)

    assert sizes(computation) == [2, 1]


@pytest.mark.parametrize(
    ("meets", "also_meets"),
    [
        (total, lambda x: total(x, [[0, 1], [2, 3]])),
        (lambda x: total(x, [[0, 1], [2, 3]]), lambda x: total(x, [[0, 2], [1, 3]])),
        (total, lambda x: tpu_ops.collective_permute(x, [[0, 1], [1, 0]])),
    ],
)
def test_other_groups_and_other_kinds_meet_apart(
    meets: Callable[[Any], Any], also_meets: Callable[[Any], Any]
) -> None:
    assert sizes(lambda x: [meets(x), also_meets(x), meets(x + 1.0)]) == [2, 1]


def test_sums_in_a_branch_are_one_meeting_at_the_site_of_the_first() -> None:
    def branch(x: Any) -> Any:
        return total(x * 3.0) + total(x * 2.0)

    def computation(x: Any) -> Any:
        return tf.cond(x[0] > 0.0, lambda: branch(x), lambda: x)

    with tf.Graph().as_default():
        tf.compat.v1.enable_control_flow_v2()
        (meeting,) = scheduled(computation).rendezvous
    assert len(meeting) == 2
    assert meeting[0].site[-1] == min(str(collective.site[-1]) for collective in meeting)
    assert meeting[0].can_be_missed
