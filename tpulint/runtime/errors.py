"""The runtime's errors and warnings: each is a rule of the catalogue that happened.

An error is also of the class that TensorFlow raises at that place, so that code written
for TensorFlow catches it. Its text is TensorFlow's, then the user's line and the rule:

    Cannot nest outside_compilation clusters
      at model.py:12 [TPU201 nested-outside-compilation]
A failure of tpulint itself is an `InternalError`: a short message that does not blame the program.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import tensorflow as tf

from tpulint import __version__
from tpulint.codes import CODES
from tpulint.runtime.emulator import Listeners
from tpulint.runtime.source_location import operation_location, place_of, user_location

__all__ = [
    "ArityError",
    "CalleeArityError",
    "ClusterCalledError",
    "ContextClearedWarning",
    "ControlFlowContextError",
    "DeadlockError",
    "DeviceAssignmentError",
    "DeviceVariableError",
    "DivergentCollectiveError",
    "EagerExecutionError",
    "EmbeddingError",
    "EmptyReplicaWarning",
    "EqualRandomNumbersWarning",
    "EqualRowsWarning",
    "EscapedTensorError",
    "GradientColocationError",
    "HostOnlyInputError",
    "HostPythonError",
    "InputsNotPerReplicaError",
    "InternalError",
    "LocalFileError",
    "LostVariableError",
    "MaximumShapesError",
    "NestedClusterError",
    "NestedClusterWarning",
    "NestedComputationError",
    "OutputOrderError",
    "OutsideCompilationNoOpWarning",
    "PaddingWarning",
    "PartialNanWarning",
    "RuntimeFault",
    "RuntimeFaultWarning",
    "StaleVariableWarning",
    "UnequalInputsError",
    "UnfetchableError",
    "UninitializedSystemError",
    "UnorderedAccessWarning",
    "UnsupportedOpError",
    "UnsynchronizedVariableWarning",
]


class _Explained(type):
    """The metaclass of faults, which adds the place and the rule to the text first.

    AutoGraph replaces an error that passes a converted function by `kind(text)`, with the old
    text in the new one, but only where `kind.__init__` is `Exception.__init__`.
    """

    def __call__(
        cls, message: str, *, place: str | None = None, rule: str | None = None
    ) -> RuntimeFault:
        fault: RuntimeFault = cls.__new__(cls, message)  # type: ignore[call-overload]
        fault.rule = fault.rule if rule is None else rule
        match = re.search(r"^\s*at (.+) \[(TPU\d{3}) [a-z-]+\]$", message, re.MULTILINE)
        if match:
            fault.place, fault.rule = match.groups()
            text = message
        else:
            fault.place = place or user_location()
            text = explained(message, fault.rule, fault.place)
        if isinstance(fault, tf.errors.OpError):
            # TensorFlow's own class among the bases takes (node_def, op, message).
            bases = (base for base in cls.__mro__ if not issubclass(base, RuntimeFault))
            own: Any = next(base for base in bases if issubclass(base, tf.errors.OpError))
            own.__init__(fault, None, None, text)
        else:
            Exception.__init__(fault, text)
        return fault


class _RuleAndPlace:
    """`rule` is the code, `place` the user's "file:line" or None.

    A fault that is no rule's, such as a step that is only too slow, has an empty one.
    """

    rule: str = ""
    place: str | None = None

    def __init_subclass__(cls, *, rule: str | None = None) -> None:
        super().__init_subclass__()
        if rule is not None:
            cls.rule = rule


class RuntimeFault(_RuleAndPlace, Exception, metaclass=_Explained):
    """Base of all errors here, each with its `rule` and `place`."""

    if TYPE_CHECKING:

        def __init__(
            self, message: str, *, place: str | None = None, rule: str | None = None
        ) -> None: ...
    else:
        __init__ = Exception.__init__


class RuntimeFaultWarning(_RuleAndPlace, UserWarning):
    """Base of all warnings here, with the same two attributes."""

    def __init__(self, message: str, *, place: str | None = None) -> None:
        self.place = place or user_location()
        super().__init__(explained(message, self.rule, self.place))
        _listeners(self)


_shown: dict[str | tuple[str, type[Warning], int], int] = {}


def warn(warning: RuntimeFaultWarning) -> None:
    """Show `warning` at its place, as often as Python's filters say.

    The stack does not tell the user's line: it ends in frames of ours, or in TensorFlow's threads.
    """
    filename, _, line = (warning.place or "").rpartition(":")
    warnings.warn_explicit(
        warning, type(warning), filename or __file__, int(line or 1), registry=_shown
    )


_listeners: Listeners[RuntimeFaultWarning] = Listeners()
warnings_sent_to = _listeners.including
"""A context that passes each warning to a function, also those that a filter hides."""


def explained(message: str, rule: str, place: str | None) -> str:
    """Return `message` and a line with the place and the rule, as far as they are known."""
    details = [f"at {place}"] if place else []
    details += [f"[{rule} {CODES[rule].name}]"] if rule else []
    return "\n  ".join([message, " ".join(details)] if details else [message])


class DeadlockError(RuntimeFault, tf.errors.DeadlineExceededError, rule="TPU101"):  # type: ignore[misc]
    """Lanes wait for each other in a cycle. On a TPU: a hang until the session's deadline.

    Its rule is empty where no variable holds them: TensorFlow's threads, or something unknown.
    """


class DeviceVariableError(RuntimeFault, ValueError, rule="TPU102"):
    """A variable of a TPUStrategy scope is touched in a host cluster."""


class StaleVariableWarning(RuntimeFaultWarning, rule="TPU103"):
    """A host cluster and the device touch one host variable, unseen by each other."""


class UnorderedAccessWarning(RuntimeFaultWarning):
    """A branch reads and writes a variable in no order, and TensorFlow may choose another."""


class UnsynchronizedVariableWarning(RuntimeFaultWarning, rule="TPU710"):
    """The replicas' copies of a variable differ, as nothing combines what they assign."""


class EqualRandomNumbersWarning(RuntimeFaultWarning, rule="TPU716"):
    """A stateless draw has the same seed on all replicas, and so the same numbers."""


class EqualRowsWarning(RuntimeFaultWarning, rule="TPU714"):
    """The input pipelines of several hosts give the same rows."""


class EmptyReplicaWarning(RuntimeFaultWarning, rule="TPU605"):
    """A replica gets no rows in a step in which another one has some."""


class PartialNanWarning(RuntimeFaultWarning):
    """A result of a step is not a number on some replicas only."""


class NestedClusterError(RuntimeFault, NotImplementedError, rule="TPU201"):
    """An outside_compilation cluster inside another one."""


class NestedClusterWarning(RuntimeFaultWarning, rule="TPU201"):
    """The same under `tf.function`, where TensorFlow lets the inner cluster's name win."""


class NestedComputationError(RuntimeFault, ValueError, rule="TPU202"):
    """A TPU computation is built inside another."""


class OutsideCompilationNoOpWarning(RuntimeFaultWarning, rule="TPU203"):
    """outside_compilation with no TPU computation around it runs in place."""


class ClusterCalledError(RuntimeFault, TypeError, rule="TPU205"):
    """outside_compilation was given the result of a call instead of a function."""


class CalleeArityError(RuntimeFault, TypeError, rule="TPU208"):
    """The function given to outside_compilation cannot take the arguments given with it."""


class ControlFlowContextError(RuntimeFault, NotImplementedError, rule="TPU301"):
    """The control-flow context is not the same at the start and the end of a cluster."""


class ContextClearedWarning(RuntimeFaultWarning, rule="TPU302"):
    """outside_compilation where the TPU context has been cleared: it runs in place."""


class EmbeddingError(RuntimeFault, tf.errors.InvalidArgumentError):  # type: ignore[misc]
    """A batch has ids that its embedding table has not, or is of another shape than set up."""


class EscapedTensorError(RuntimeFault, ValueError, rule="TPU303"):
    """A tensor of a branch or a loop body is used outside it, or (TPU207) one of a host cluster."""


class DivergentCollectiveError(RuntimeFault, tf.errors.DeadlineExceededError, rule="TPU306"):  # type: ignore[misc]
    """A collective that only some replicas reach. On a TPU: a hang."""


class InternalError(RuntimeFault, tf.errors.InternalError):  # type: ignore[misc]
    """The emulator itself has failed: a fault of tpulint's, and nothing against the program."""


class GradientColocationError(RuntimeFault, AssertionError):
    """A gradient of a host cluster is open in a function, where TensorFlow asserts that none is."""


class InputsNotPerReplicaError(RuntimeFault, TypeError, rule="TPU401"):
    """`inputs` is not a list of lists or tuples."""


class UnequalInputsError(RuntimeFault, ValueError, rule="TPU402"):
    """Replicas get inputs of different number, structure, dtype or shape."""


class ArityError(RuntimeFault, TypeError, rule="TPU403"):
    """The computation cannot take the number of inputs it is given."""


class MaximumShapesError(RuntimeFault, ValueError, rule="TPU404"):
    """`maximum_shapes` does not fit the inputs, or comes with an infeed queue."""


class UnfetchableError(RuntimeFault, ValueError, rule="TPU406"):
    """A tensor made in a TPU computation is fetched outside it."""


class OutputOrderError(RuntimeFault, ValueError, rule="TPU407"):
    """The outputs have an operation in the place of a tensor."""


class DeviceAssignmentError(RuntimeFault, ValueError, rule="TPU408"):
    """The device assignment does not fit the number of replicas, or is missing."""


class PaddingWarning(RuntimeFaultWarning, rule="TPU409"):
    """`padding_spec` has no effect here."""


class UninitializedSystemError(RuntimeFault, tf.errors.FailedPreconditionError, rule="TPU707"):  # type: ignore[misc]
    """A step runs on a TPU system that the program has not initialized, or has shut down."""


class LostVariableError(RuntimeFault, tf.errors.NotFoundError, rule="TPU704"):  # type: ignore[misc]
    """A variable on the TPU is used after the system has been initialized again."""


class HostOnlyInputError(RuntimeFault, tf.errors.NotFoundError, rule="TPU607"):  # type: ignore[misc]
    """A pipeline on a host calls Python, or a package, that only the program's machine has."""


class LocalFileError(RuntimeFault, tf.errors.UnimplementedError, rule="TPU607"):  # type: ignore[misc]
    """A host of a TPU that is another machine is to read or write a file of the program's."""


class HostPythonError(RuntimeFault, tf.errors.NotFoundError, rule="TPU501"):  # type: ignore[misc]
    """A host cluster on a host of a pod calls Python, which is on the program's machine."""


class UnsupportedOpError(RuntimeFault, tf.errors.InvalidArgumentError, rule="TPU501"):  # type: ignore[misc]
    """Device code has an operation with no TPU kernel."""


class EagerExecutionError(RuntimeFault, NotImplementedError, AttributeError, rule="TPU706"):
    """`TPUStrategy.run` of a tf.function that runs operation by operation.

    On a TPU the first tensor that is asked for its operation raises an AttributeError.
    """


_Fault = TypeVar("_Fault", bound=RuntimeFault)


def as_fault(kind: type[_Fault], error: Exception, rule: str | None = None) -> _Fault:
    """Return `error`, raised by TensorFlow, as a `kind` that is also of `error`'s class."""
    fault: _Fault = combine_classes(kind, type(error))(str(error), place=place_of(error), rule=rule)
    return fault


@contextmanager
def raised_as(kind: type[RuntimeFault], *classes: type[Exception]) -> Iterator[None]:
    """Raise the errors of `classes` that TensorFlow raises in the context as a `kind`."""
    try:
        yield
    except classes as error:
        raise as_fault(kind, error) from None


# Classes are made once, or `except` clauses would not find them.
_joined_classes: dict[tuple[type[RuntimeFault], type[Exception]], type[Any]] = {}


def combine_classes(kind: type[RuntimeFault], tensorflow_class: type[Exception]) -> type[Any]:
    """Return `kind`, as a class that is also TensorFlow's class `tensorflow_class`."""
    if issubclass(kind, tensorflow_class):
        return kind
    key = kind, tensorflow_class
    if key not in _joined_classes:
        namespace = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        _joined_classes[key] = type(kind.__name__, key, namespace)
    return _joined_classes[key]


ISSUES = "https://github.com/tpulint/tpulint/issues"
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
# No code raises them on purpose.
_BUGS = (KeyError, IndexError, AssertionError, NameError, RecursionError)


@contextmanager
def wrap_internal_errors(*, with_user_code: bool = False) -> Iterator[None]:
    """Report exceptions in the context as tpulint's own.

    `with_user_code` reports only those that arise in tpulint: the context also runs the user's.
    """
    try:
        yield
    except (RuntimeFault, tf.errors.OpError):
        raise
    except Exception as error:
        if with_user_code and not (isinstance(error, _BUGS) and _is_ours(error)):
            raise
        raise internal_error(error) from error


def internal_error(error: Exception) -> InternalError:
    """Return `error` as an InternalError, with its place in tpulint and its operation."""
    own = [entry for entry in walk_tb(error.__traceback__) if _is_own_frame(entry[0])]
    filename, line = __file__, 0
    if own:
        innermost, line = own[-1]
        filename = innermost.f_code.co_filename
    filename = os.path.join("tpulint", "runtime", filename.removeprefix(_HERE))
    op = next((op for frame, _ in reversed(own) for op in _operations(frame)), None)
    at = f" at the operation '{op.name}' ({op.type})" if op is not None else ""
    # A message of TensorFlow's may hold a whole graph: it is cut below.
    text = " ".join(str(error).split())
    return InternalError(
        f"tpulint cannot run this program, by an error of its own{at}\n"
        f"  {type(error).__name__}: {text[:200]} ({filename}:{line}, tpulint {__version__}, "
        f"TensorFlow {tf.__version__})\n"
        "  It says nothing against the program, which is unchanged. Please report it, with the "
        f"program if you can: {ISSUES}",
        place=operation_location(op) if op is not None else None,
    )


def _is_ours(error: BaseException) -> bool:
    """Return whether `error` arose in tpulint."""
    # Not where `error` is caught: a frame that holds itself keeps the graphs in its variables.
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return bool(frames) and _is_own_frame(frames[-1])


def _is_own_frame(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_HERE)


def _operations(frame: FrameType) -> list[Any]:
    """Return the operations in the variables of `frame`, and then those of its tensors."""
    values = list(frame.f_locals.values())
    tensors = [value for value in values if isinstance(value, tf.Tensor)]
    return [
        *(value for value in values if isinstance(value, tf.Operation)),
        *(tensor.op for tensor in tensors if hasattr(tensor, "graph")),
    ]
