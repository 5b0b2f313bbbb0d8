"""The hosts of an emulated pod: tasks of a job, to which the program connects."""

from __future__ import annotations

import contextlib
import functools
import gc
import re
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import HostOnlyInputError, LocalFileError
from tpulint.runtime.pods.connections import announce_address, lost_host
from tpulint.runtime.pods.devices import COORDINATOR, current_pod, is_on_pod, spec_of
from tpulint.runtime.pods.sessions import SERVED
from tpulint.runtime.source_location import operation_location, user_location
from tpulint.runtime.tensorflow_internals.graphs import device_of_graph, graphs_outwards
from tpulint.runtime.tensorflow_internals.modules import (
    c_api,
    device_util,
    eager_context,
    eager_core,
    op_def_pb2,
    op_def_registry,
    ops,
)
from tpulint.runtime.tensorflow_internals.operations import PYTHON_FUNCTIONS
from tpulint.runtime.tensorflow_internals.patching import (
    Changed,
    emulated_patch,
    emulated_patch_value,
)

_CONTEXT = "tensorflow.python.eager.context.Context"
_MACHINES = "the hosts of a pod are processes, or this one, and the program sees them as machines"


@emulated_patch(f"{_CONTEXT}.set_server_def", why=_MACHINES)
@emulated_patch(f"{_CONTEXT}.update_server_def", why=_MACHINES)
def _connect_to_hosts(
    connect: Callable[..., None], self: Any, server_def: Any, *args: Any, **kwargs: Any
) -> None:
    pod = current_pod()
    jobs = {job.name for job in server_def.cluster.job} - {server_def.job_name, COORDINATOR}
    pod.job = min(jobs, default=pod.job)
    if pod.workers:
        # A function that goes later would be removed from hosts that never had it, and the error
        # would be told with whatever comes next.
        gc.collect()
        announce_address(server_def, pod.workers)
        connect(self, server_def, *args, **kwargs)
    pod.is_connected = True


@emulated_patch(
    "tensorflow.python.eager.executor.Executor.__del__",
    why="the end of a dataset on a host that is a process is not shown as an ignored error",
)
def _delete_executor(delete: Callable[[Any], None], self: Any) -> None:
    """Delete an executor in which the last operation has found a dataset at its end.

    Another error that it holds is shown, as TensorFlow does.
    """
    with contextlib.suppress(Exception):
        try:
            self.wait()
        except tf.errors.OutOfRangeError:
            self.clear_error()
    delete(self)


@emulated_patch(f"{_CONTEXT}.configure_coordination_service", why=_MACHINES)
def _configure_coordination_service(*_: Any, **__: Any) -> None:
    """Do nothing: there is nothing to coordinate."""


@emulated_patch(
    "tensorflow.python.eager.context.async_wait",
    why="nothing waits for a host of a pod that is lost, also not at the end of the program",
)
def _wait_unless_lost(wait: Callable[[], None]) -> None:
    """TensorFlow would wait for ever: also at the end, for which a TPUStrategy asks."""
    address = lost_host()
    if address is not None:
        message = f"The host of the pod at {address} does not answer"
        raise tf.errors.UnavailableError(None, None, message)
    wait()


@contextlib.contextmanager
def function_optimizer_disabled() -> Iterator[None]:
    """Let TensorFlow change no function in the context, if the hosts are processes.

    They would refuse a function of which they have another version: with 2.12 and 2.15 those that
    Grappler has optimized, if they hold others. With 2.21 they accept both.
    """
    context, options = eager_context.context(), "_optimizer_experimental_options"
    before = dict(getattr(context, options))
    release = tuple(map(int, tf.__version__.split(".")[:2]))
    if current_pod().workers and release < (2, 21):
        context.set_optimizer_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        getattr(context, options).clear()
        context.set_optimizer_experimental_options(before)


@contextlib.contextmanager
def device_scope_restored() -> Iterator[None]:
    """Leave at the end the device scope that a program has entered by connecting to a pod."""
    context = eager_context.context()
    scope = context.device_name, context.device_spec
    try:
        yield
    finally:
        context._set_device(*scope)


@emulated_patch(
    "tensorflow.python.data.ops.dataset_ops.DatasetV2._apply_debug_options",
    why="a pipeline on a host of a pod runs no Python of the program",
)
def _refuse_python_on_hosts(original: Callable[..., Any], self: Any) -> Any:
    """Refuse `py_function`, `numpy_function` and `from_generator` in a pipeline on a host.

    TensorFlow calls this method just before it makes an iterator.
    """
    host = device_util.current() or self._variant_tensor.device
    op = python_operation(self) if is_on_pod(host) else None
    if op is not None:
        raise HostOnlyInputError(
            f"No registered '{op.type}' OpKernel on '{host}': the pipeline runs on a host of the "
            "TPU, and the Python function is in the process of the program",
            place=operation_location(op),
        )
    return original(self)


def python_operation(dataset: Any) -> Any:
    """Return an operation of `dataset`, or of what it is made of, that calls Python, or None."""
    datasets, graphs = [dataset], []
    while datasets:
        part = datasets.pop()
        datasets += part._inputs()
        graphs += [function.function.graph for function in part._functions()]
    seen: set[int] = set()
    while graphs:
        graph = graphs.pop()
        if id(graph) in seen:
            continue
        seen.add(id(graph))
        for op in graph.get_operations():
            if op.type in PYTHON_FUNCTIONS:
                return op
        inner = (getattr(function, "graph", None) for function in graph._functions.values())
        graphs += [inner_graph for inner_graph in inner if inner_graph is not None]
    return None


@functools.cache
def operations_at_the_start() -> frozenset[str]:
    """Return the operations that were registered at the first call: those of TensorFlow itself."""
    serialized = c_api.TF_GetBuffer(c_api.TF_GetAllOpList())
    registered = op_def_pb2.OpList.FromString(serialized)
    return frozenset(operation.name for operation in registered.op)


def foreign_operation(dataset: Any) -> str | None:
    """Return an operation that makes `dataset` and that a package outside TensorFlow has, or None.

    Operations in the functions of the pipeline do not count: a host of Cloud TPU has some of them,
    as those of TensorFlow Text.
    """
    variant = dataset._variant_tensor
    if not hasattr(variant, "numpy"):
        names = [variant.op.type]
    else:
        try:
            graph = tf.compat.v1.GraphDef.FromString(dataset._as_serialized_graph().numpy())
        except tf.errors.OpError:  # a kernel need not be able to do this
            return None
        names = [node.op for node in graph.node]
    return next((name for name in names if name not in operations_at_the_start()), None)


@emulated_patch(
    "tensorflow.python.data.ops.dataset_ops.DatasetV2.__init__",
    why="the hosts of a remote TPU have no package of the program's machine",
)
def _refuse_foreign_datasets(
    original: Callable[..., None], self: Any, variant_tensor: Any, *args: Any, **kwargs: Any
) -> None:
    """Refuse what a host of the TPU has no kernel for, where the program makes it."""
    original(self, variant_tensor, *args, **kwargs)
    is_foreign = not type(self).__module__.startswith("tensorflow.")
    if not (is_foreign and _refuses_local_files()):
        return
    name = foreign_operation(self)
    if name is not None:
        raise HostOnlyInputError(
            f"Op type not registered '{name}' in binary running on a host of the TPU: it is of a "
            "package that only the program's machine has"
        )


# Files of the program's machine. TensorFlow has one file system for paths without a scheme, and no
# way to remove it. So such a path is given a scheme that TensorFlow does not know: the kernel
# itself refuses it, wherever and whenever it runs, and the error names the scheme.

_LOCAL_SCHEME = "tpulint.local."
_HAS_SCHEME = r"(?s)[a-zA-Z][0-9a-zA-Z.]*://.*"
_IS_FILE = r"(?s)file://.*"
_PATHS: dict[str, tuple[str, ...]] = {
    "CSVDataset": ("filenames",),
    "CSVDatasetV2": ("filenames",),
    "CacheDataset": ("filename",),
    "CacheDatasetV2": ("filename",),
    "CreateSummaryFileWriter": ("logdir",),
    "DatasetToTFRecord": ("filename",),
    "FixedLengthRecordDataset": ("filenames",),
    "FixedLengthRecordDatasetV2": ("filenames",),
    "InitializeTableFromTextFile": ("filename",),
    "InitializeTableFromTextFileV2": ("filename",),
    "LoadDataset": ("path",),
    "MatchingFiles": ("pattern",),
    "MatchingFilesDataset": ("patterns",),
    "MergeV2Checkpoints": ("checkpoint_prefixes", "destination_prefix"),
    "ReadFile": ("filename",),
    "Restore": ("file_pattern",),
    "RestoreSlice": ("file_pattern",),
    "RestoreV2": ("prefix",),
    "Save": ("filename",),
    "SaveDataset": ("path",),
    "SaveDatasetV2": ("path",),
    "SaveSlices": ("filename",),
    "SaveV2": ("prefix",),
    "SnapshotDataset": ("path",),
    "SnapshotDatasetV2": ("path",),
    "TFRecordDataset": ("filenames",),
    "TFRecordDatasetV2": ("filenames",),
    "TextLineDataset": ("filenames",),
    "WriteFile": ("filename",),
}
"""The operations whose kernels read and write files, and their arguments that are paths."""
_makers: list[str | None] = []
"""The lines of programs that made such operations; the scheme has the number of one."""


def _refuses_local_files() -> bool:
    """Return whether what is made now runs on a host that has none of this machine's files.

    A function runs where it is called: on the device of what is around it, where it names none.
    """
    pod = current_pod()
    in_sessions = not tf.compat.v1.executing_eagerly_outside_functions()
    if not (pod.is_apart and (pod.is_connected or in_sessions)):
        return False
    graph = None if tf.executing_eagerly() else ops.get_default_graph()
    names = [device_of_graph(around).to_string() for around in graphs_outwards(graph)]
    names.append(eager_context.context().device_name or "")
    named = next((name for name in names if "/job:" in name or "/task:" in name), "")
    return is_on_pod(named)


def _for_hosts(paths: Any, line: str | None) -> Any:
    """Return a tensor of `paths`, with a scheme that nobody has where they are local.

    The operation that takes them was made at `line`.
    """
    if line not in _makers:
        _makers.append(line)
    paths = tf.convert_to_tensor(paths, tf.string)
    is_file = tf.strings.regex_full_match(paths, _IS_FILE)
    has_scheme = tf.strings.regex_full_match(paths, _HAS_SCHEME)
    is_elsewhere = (has_scheme & ~is_file) | tf.equal(paths, "")  # an empty one is of no file
    scheme = f"{_LOCAL_SCHEME}{_makers.index(line)}://"
    return tf.where(is_elsewhere, paths, tf.strings.join([scheme, paths]))


_REFUSED = re.compile(
    rf"'{re.escape(_LOCAL_SCHEME)}(\d+)' not implemented \(file: '{re.escape(_LOCAL_SCHEME)}\d+://(file(?=://))?"
)


def local_file_fault(message: str) -> LocalFileError | None:
    """Return the fault of a file that a host of the TPU has not, in TensorFlow's words, or None."""
    refused = _REFUSED.search(message)
    if not refused:
        return None
    scheme = refused[2] or "[local]"
    words = f"'{scheme}' not implemented (file: '{refused[2] or ''}"
    text = message[: refused.start()] + words + message[refused.end() :]
    text = re.sub(rf"{re.escape(_LOCAL_SCHEME)}\d+://", "", text)
    return LocalFileError(text, place=_makers[int(refused[1])])


_APART = "the hosts of a remote TPU have none of the files of the program's machine"
_GENERATED = "tensorflow.python.ops"


@emulated_patch_value(f"{_GENERATED}.gen_dataset_ops._op_def_library", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_experimental_dataset_ops._op_def_library", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_io_ops._op_def_library", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_lookup_ops._op_def_library", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_summary_ops._op_def_library", why=_APART)
def _refuse_local_files_in_graphs(library: Any) -> Changed:
    def apply_op_helper(operation: str, name: str | None = None, **arguments: Any) -> Any:
        if operation in _PATHS and _refuses_local_files():
            for path in _PATHS[operation]:
                arguments[path] = _for_hosts(arguments[path], user_location())
        return library._apply_op_helper(operation, name=name, **arguments)

    return Changed(library, _apply_op_helper=apply_op_helper)


@emulated_patch_value(f"{_GENERATED}.gen_dataset_ops.pywrap_tfe", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_experimental_dataset_ops.pywrap_tfe", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_io_ops.pywrap_tfe", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_lookup_ops.pywrap_tfe", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_summary_ops.pywrap_tfe", why=_APART)
def _prepare_inputs(execute: Any) -> Changed:
    def fast_path_execute(ctx: Any, operation: str, *arguments: Any) -> Any:
        if operation in _PATHS and _refuses_local_files():
            # TensorFlow makes tensors of the arguments then, and calls `execute`.
            raise eager_core._FallbackException
        return execute.TFE_Py_FastPathExecute(ctx, operation, *arguments)

    return Changed(execute, TFE_Py_FastPathExecute=fast_path_execute)


@emulated_patch_value(f"{_GENERATED}.gen_dataset_ops._execute", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_experimental_dataset_ops._execute", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_io_ops._execute", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_lookup_ops._execute", why=_APART)
@emulated_patch_value(f"{_GENERATED}.gen_summary_ops._execute", why=_APART)
def _refuse_local_files_eagerly(library: Any) -> Changed:
    def execute(operation: bytes, num_outputs: int, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        name = operation.decode()
        if name in _PATHS and _refuses_local_files():
            inputs = list(inputs)
            for place in _places_of_paths(name):
                inputs[place] = _for_hosts(inputs[place], user_location())
        return library.execute(operation, num_outputs, inputs, *args, **kwargs)

    return Changed(library, execute=execute)


@functools.cache
def _places_of_paths(operation: str) -> tuple[int, ...]:
    """Return the places of the paths among the inputs of `operation`."""
    inputs = [argument.name for argument in op_def_registry.get(operation).input_arg]
    return tuple(map(inputs.index, _PATHS[operation]))


_REFUSED_IN = "_tpulint_refused_in"
"""The attribute of a graph that holds its version when its operations were last looked at."""


@emulated_patch("tensorflow.python.client.session.BaseSession._extend_graph", why=_APART)
def _refuse_local_files_in_sessions(original: Callable[..., None], self: Any) -> None:
    """Mark the paths of operations without a job: they run on the host that serves the session."""
    graph = self._graph
    is_apart = current_pod().is_apart and getattr(self, SERVED, False)
    if is_apart and getattr(graph, _REFUSED_IN, 0) != graph.version:
        _mark_paths(graph)
        setattr(graph, _REFUSED_IN, graph.version)
    original(self)


def _mark_paths(graph: Any) -> None:
    is_final, graph._finalized = graph._finalized, False
    try:
        for op in graph.get_operations():
            if op.type not in _PATHS or not (
                spec_of(op.device).job is None or is_on_pod(op.device)
            ):
                continue
            for place in _places_of_paths(op.type):
                path = op.inputs[place]
                if not path.op.name.startswith(_MARKED):
                    with graph.as_default(), tf.name_scope(_MARKED), tf.control_dependencies(None):
                        marked = tf.identity(_for_hosts(path, operation_location(op)))
                    op._update_input(place, marked)
    finally:
        graph._finalized = is_final


_MARKED = "tpulint_path/"
"""The name scope of paths that have been marked."""
