"""The files of models and checkpoints that TensorFlow reads and writes on the host of a TPU.

The facts: tensorflow/python/saved_model/save.py and checkpoint/checkpoint.py place the operations
with the variables, which a remote TPU's host holds, unless `experimental_io_device` says otherwise.
Keras writes `.keras` and `.h5` files from Python, on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall, Argument, Context, Variable
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.absint.domain.structures import start_of
from tpulint.absint.domain.values import Const, Value, options
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy

# Functions of TensorFlow, with the argument that is saved and the one that names the place.
SAVES = {"save": ("obj", 0, "export_dir", 1), "save_model": ("model", 0, "filepath", 1)}
# Methods of checkpoints, whose first argument is the path, and those of Keras' models.
OF_CHECKPOINTS = frozenset(["write", "save", "read", "restore"])
OF_MODELS = frozenset(["save", "save_weights", "load_weights"])
CALLBACKS = {
    "TensorBoard": "log_dir",
    "ModelCheckpoint": "filepath",
    "BackupAndRestore": "backup_dir",
}
OF_PYTHON = (".keras", ".h5", ".hdf5")
DEPTH = 3  # of structures that hold what is saved


class SavedFile(NamedTuple):
    """A path that the TPU's host reads or writes, and the strategy that holds the variables."""

    call: ApiCall
    path: Value
    named: Argument | None
    strategy: Strategy


def saved_files(program: Program) -> Iterator[SavedFile]:
    """Yield the places of models and checkpoints whose variables a TPUStrategy holds."""
    for call in program.calls:
        target = _target(program, call)
        if target is None:
            continue
        held, path, named = target
        strategy = _strategy_of(program, held, DEPTH)
        if strategy is not None and not _is_written_here(call, path):
            yield SavedFile(call, path, named, strategy)


def _target(program: Program, call: ApiCall) -> tuple[Value, Value, Argument | None] | None:
    """Return what a call saves or restores, and the path, with the argument that names it."""
    module = call.path.rpartition(".")[0]
    if call.last in SAVES and module.endswith(("saved_model", "keras.models")):
        keyword, position, path_keyword, path_position = SAVES[call.last]
        held = call.argument(keyword, position)
        path = call.argument(path_keyword, path_position)
        return (held.value, path.value, path) if held and path else None
    receiver = call.receiver
    if isinstance(receiver, ExternalObject) and receiver.last == "CheckpointManager":
        folder = _argument(program, receiver, "directory", 1)
        held = _argument(program, receiver, "checkpoint", 0)
        return (held.value, folder.value, None) if call.last == "save" and folder and held else None
    if isinstance(receiver, ExternalObject) and receiver.last == "Checkpoint":
        path = call.argument("file_prefix" if call.last == "save" else "save_path", 0)
        return (receiver, path.value, path) if call.last in OF_CHECKPOINTS and path else None
    if call.last in OF_MODELS and isinstance(receiver, (ExternalObject, Instance)):
        path = call.argument("filepath", 0)
        return (receiver, path.value, path) if path else None
    return None


def callbacks(program: Program) -> Iterator[SavedFile]:
    """Yield the places that callbacks of `fit` write to, for models of a TPUStrategy."""
    for call in program.calls:
        given = call.argument("callbacks")
        if call.last != "fit" or given is None or call.receiver is None:
            continue
        strategy = _strategy_of(program, call.receiver, 0)
        callbacks_given = given.value.items if isinstance(given.value, Sequence) else []
        for callback in callbacks_given:
            if strategy is None or not isinstance(callback, ExternalObject):
                continue
            keyword = CALLBACKS.get(callback.last)
            path = _argument(program, callback, keyword, 0) if keyword else None
            for maker in program.by_result.get(id(callback), ()):
                if path is not None and not _is_written_here(maker, path.value):
                    yield SavedFile(maker, path.value, path, strategy)


def hub_layers(program: Program) -> Iterator[tuple[ApiCall, Strategy]]:
    """Yield the models of TensorFlow Hub that are unpacked here, and made for a TPUStrategy.

    They are read from Cloud Storage if the environment says so.
    """
    if any(module.has_word(naming.HUB_FORMAT) for module in program.modules):
        return
    for call in program.calls:
        if call.path not in ("tensorflow_hub.KerasLayer", "tensorflow_hub.load"):
            continue
        strategy = scope_strategy(call.context)
        handle = call.argument("handle", 0)
        starts = start_of(handle.value) if handle is not None else None
        is_told = call.argument("load_options") or call.argument("options")
        if strategy is None or strategy.kind != "tpu" or is_told:
            continue
        if starts is not None and starts.startswith("http"):
            yield call, strategy


def _argument(
    program: Program, made: ExternalObject, keyword: str, position: int
) -> Argument | None:
    """Return an argument of the call that made an object."""
    for call in program.by_result.get(id(made), ()):
        return call.argument(keyword, position)
    return None


def _is_written_here(call: ApiCall, path: Value) -> bool:
    """Return whether this machine reads or writes the file, or may be told to."""
    if call.argument("options") is not None or any(argument.star for argument in call.arguments):
        return True
    plain = [argument for argument in call.arguments if argument.keyword is None]
    if call.last == "save" and call.path.endswith("saved_model.save") and len(plain) > 3:
        return True
    if call.last in ("write", "save", "read", "restore") and "Checkpoint" in call.path:
        return len(plain) > 1
    format_given = call.argument("save_format")
    if format_given is not None and format_given.value not in (Const("tf"), Const(None)):
        return True
    return any(
        isinstance(option, Const) and str(option.value).endswith(OF_PYTHON)
        for option in options(path)
    )


def _strategy_of(program: Program, held: Value, depth: int) -> Strategy | None:
    """Return the TPUStrategy under whose scope something that is saved was made."""
    made: Context | None = None
    if isinstance(held, Variable):
        made = held.made
    elif isinstance(held, (ExternalObject, Instance)):
        made = held.context
    strategy = scope_strategy(made)
    if strategy is not None and not _makes_no_variable(held):
        return strategy if strategy.kind == "tpu" else None
    parts: list[Value] = []
    if isinstance(held, ExternalObject):
        for call in program.by_result.get(id(held), ()):
            parts += [argument.value for argument in call.arguments]
    elif isinstance(held, Sequence):
        parts = held.items
    elif isinstance(held, Mapping):
        parts = list(held.items.values())
    found = (_strategy_of(program, part, depth - 1) for part in parts if depth > 0)
    return next((strategy for strategy in found if strategy is not None), None)


def _makes_no_variable(held: Value) -> bool:
    """Return whether this holds what is saved, and no variable but a counter on this machine."""
    return isinstance(held, ExternalObject) and held.last in ("Checkpoint", "CheckpointManager")
