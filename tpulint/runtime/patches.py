"""Patches that need both TensorFlow's internals and the steps of a computation above them.

All the others are where they belong by what they do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tpulint.runtime import feeds as _feeds  # noqa: F401

# These are imported for the patches that they declare alone: nothing else leads to them.
from tpulint.runtime.embedding import operations as _embedding_operations  # noqa: F401
from tpulint.runtime.execute import raising
from tpulint.runtime.execute.device_program import refused_segment
from tpulint.runtime.execute.waiting import run_watched
from tpulint.runtime.pods.hosts import local_file_fault
from tpulint.runtime.python_functions import intercept_user_functions
from tpulint.runtime.tensorflow_internals.modules import errors_impl
from tpulint.runtime.tensorflow_internals.patching import patch, patch_value

_ERRORS = "tensorflow.python.framework.errors_impl"
_OWN_ERRORS = "a failed step raises the runtime's own error, which names the rule"


def _local_file_error(message: str, kind: type[Exception]) -> Exception | None:
    fault = local_file_fault(message)
    return fault and raising.as_tensorflow_error(fault, kind)


# A step on other hosts is cancelled by closing the connections to them.
_cause_of_closing = functools.partial(
    raising.cause_of_cancelling, replaces=errors_impl.UnavailableError
)
_OF_TOKENS = (raising.fault_in, raising.cause_of_cancelling, _cause_of_closing)
_FINDERS: dict[type[Exception], tuple[Callable[[str], Exception | None], ...]] = {
    errors_impl.UnknownError: (raising.fault_in,),
    errors_impl.CancelledError: (raising.cause_of_cancelling,),
    errors_impl.UnavailableError: (_cause_of_closing,),
    errors_impl.InvalidArgumentError: (
        refused_segment,
        raising.undeclared_output_fault,
        functools.partial(_local_file_error, kind=errors_impl.InvalidArgumentError),
    ),
    errors_impl.UnimplementedError: (
        functools.partial(_local_file_error, kind=errors_impl.UnimplementedError),
    ),
}
"""For an error of TensorFlow's, what finds in its message the error to raise in its place.

That must be of a subclass of it: Python initializes no other that `__new__` returns.
"""


@patch(f"{_ERRORS}.UnknownError.__new__", why=_OWN_ERRORS)
@patch(f"{_ERRORS}.CancelledError.__new__", why=_OWN_ERRORS)
@patch(f"{_ERRORS}.UnavailableError.__new__", why=_OWN_ERRORS)
@patch(f"{_ERRORS}.InvalidArgumentError.__new__", why=_OWN_ERRORS)
@patch(f"{_ERRORS}.UnimplementedError.__new__", why=_OWN_ERRORS)
def _make_error(_: Callable[..., Any], cls: type[Exception], *args: Any, **kwargs: Any) -> Any:
    del kwargs
    if len(args) > 2:
        for find in _FINDERS.get(cls, ()):  # not for the subclasses, which include tpulint's own
            error = find(str(args[2]))
            if error is not None:
                if find not in _OF_TOKENS:  # those were reported when they were raised
                    raising.report_error(error)
                return error
    return Exception.__new__(cls, *args)


@patch_value(
    "tensorflow.python.ops.script_ops.FuncRegistry.__call__",
    why="Python functions of graphs do not hold the last thread that TensorFlow has",
)
def _watch_python_functions(original: Callable[..., Any]) -> Callable[..., Any]:
    return raising.note_raising_functions(intercept_user_functions(run_watched, original))
