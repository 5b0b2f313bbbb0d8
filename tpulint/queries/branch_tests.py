"""The Python tests that lead to a place: whether they ask for a dtype, a shape, eager code."""

from __future__ import annotations

import re

from tpulint.analysis.domain.context import COMPUTATION, TRY
from tpulint.analysis.domain.events import Context
from tpulint.analysis.domain.written_tests import tests

EXCEPT = "except"  # the key of what a handler does
DTYPE = re.compile(
    r"float16|float64|fp16|fp64|half|double|lossscale|loss_scale|mixed|precision|policy|dtype",
    re.IGNORECASE,
)
SHAPE = re.compile(r"static|shape|dynamic|fully_defined|unroll", re.IGNORECASE)
EAGER = re.compile(r"eager|is_tensor|is_symbolic|ndarray|numpy")
KIND = re.compile(r"hasattr|isinstance")


def asks_for_dtype(context: Context) -> bool:
    """Return whether a test on the way to `context` names a dtype, or a policy of them."""
    return any(DTYPE.search(text) for text, _ in tests(context))


def asks_for_shape(context: Context) -> bool:
    """Return whether a test asks for a static shape: a loop there may be unrolled in Python."""
    return any(SHAPE.search(text) for text, _ in tests(context))


def is_tried(context: Context) -> bool:
    """Return whether `context` is in the body of a `try` that is part of the device code."""
    return any(scope.kind == TRY for scope in context.since(COMPUTATION))


def asks_for_eager(context: Context) -> bool:
    """Return whether a test asks for eager code, or for what kind of value something is.

    One that ends in an error if that is another kind does not.
    """
    forks = context._replace(conditions=context.forks)
    return any(EAGER.search(text) for text, _ in tests(context)) or any(
        KIND.search(text) for text, _ in tests(forks)
    )


def is_handler(context: Context) -> bool:
    """Return whether `context` is in an `except`: it runs where what was tried has failed."""
    return any(key.kind == EXCEPT for key, _ in context.conditions)
