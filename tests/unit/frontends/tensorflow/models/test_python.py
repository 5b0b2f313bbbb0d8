"""What Python's own functions return, where they call functions of the program."""

from __future__ import annotations

import pytest

from tests.unit.reading import names, program

HEAD = """
import functools
import itertools
import six
import tensorflow as tf

def add(a, b):
    return [a, b]

def is_even(x):
    return x % 2 == 0

unseen = open("f").read()
"""
RESULTS = {
    "functools.reduce(add, [1, 2, 3])": "list [list [1, 2], 3]",
    "functools.reduce(add, [1, 2], 0)": "list [list [0, 1], 2]",
    "six.moves.reduce(add, [1, 2])": "list [1, 2]",
    "functools.reduce(add, [7])": "7",
    "functools.reduce(add, [])": "UNKNOWN",
    "functools.reduce(add, unseen)": "list [UNKNOWN, UNKNOWN]",
    "functools.reduce(add, unseen, 5)": "list [5, UNKNOWN]",
    "filter(is_even, [1, 2])": "list [1, 2, ...]",
    "filter(None, [1, 2])": "list [1, 2, ...]",
    "filter(is_even, unseen)": "list [UNKNOWN, ...]",
    "itertools.starmap(add, [(1, 2), (3, 4)])": "list [list [1, 2], list [3, 4]]",
    "itertools.starmap(add, unseen)": "list [list [UNKNOWN, UNKNOWN], ...]",
    "itertools.starmap(add, [unseen])": "list [list [UNKNOWN, UNKNOWN]]",
}


@pytest.mark.parametrize("expression", RESULTS)
def test_the_result_is_made_of_what_the_function_returns(expression: str) -> None:
    assert repr(names(f"{HEAD}\nresult = {expression}\n")["result"]) == RESULTS[expression]


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("functools.reduce(step, [1, 2, 3])", 2),
        ("functools.reduce(step, unseen)", 1),
        ("functools.reduce(step, list(range(16)))", 15),
        ("filter(step, [1, 2, 3])", 1),
        ("itertools.starmap(step, [(1, 2), (3, 4)])", 2),
    ],
)
def test_the_function_is_called_for_each_item_that_is_known(expression: str, count: int) -> None:
    text = f"{HEAD}\ndef step(*args):\n    return tf.nn.relu(1.0)\n\n{expression}\n"
    assert [call.last for call in program(text).calls].count("relu") == count
