"""The table of patches: each attribute of TensorFlow that the runtime replaces, and why.

The replacements are in this package and in `mark`, next to what they do; `patching` refuses to
replace what is not listed here. Outside this table, the runtime only adds to TensorFlow: a gradient
under a name of its own, its context class to those that TensorFlow takes for its own, and
attributes that begin with `_tpulint` to graphs and operations.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class When(enum.Enum):
    """The time for which a patch is installed."""

    ALWAYS = "from the import of tpulint.runtime on"
    EMULATED = "while emulated_tpu is open"
    BUILDING = "while TensorFlow 1 conditionals and loops become functions"
    INTERRUPTIBLE = "while tpulint run can be interrupted"


class Patch(NamedTuple):
    """One attribute of a module or class of TensorFlow.

    `since` and `until` are the oldest and the newest release that were found to have it; no `until`
    is the newest supported one.
    """

    target: str
    why: str
    when: When = When.ALWAYS
    since: str = "2.12"
    until: str = ""


_TF = "tensorflow.python"
_EAGER = f"{_TF}.eager"
_FRAMEWORK = f"{_TF}.framework"
_OPS = f"{_TF}.ops"
_TPU = f"{_TF}.tpu"
_DISTRIBUTE = f"{_TF}.distribute"
_XLA = "tensorflow.compiler.tf2xla.python.xla"

_OWN_ERRORS = "a failed step raises the runtime's own error, which names the rule"
_FEEDS = "the host's end of infeed and outfeed reaches the replicas on this CPU"
_UNUSED_NODES = "functions made by Defun leave out the marked nodes, which have no kernel"

_ALWAYS = (
    Patch(
        f"{_TF}.client.session.BaseSession.__init__",
        "sessions place only the operations that they run: marked nodes have no kernel",
    ),
    Patch(
        f"{_TF}.client.session.BaseSession.close",
        "a session is not deleted while a call in it that failed still holds a mutex",
    ),
    Patch(f"{_FRAMEWORK}.errors_impl.UnknownError.__new__", _OWN_ERRORS),
    Patch(f"{_FRAMEWORK}.errors_impl.CancelledError.__new__", _OWN_ERRORS),
    Patch(f"{_FRAMEWORK}.errors_impl.InvalidArgumentError.__new__", _OWN_ERRORS),
    Patch(
        f"{_OPS}.script_ops.FuncRegistry.__call__",
        "Python functions of graphs do not hold the last thread that TensorFlow has",
    ),
    *(
        Patch(
            f"{_TF}.util.traceback_utils.{name}",
            "the frames of tpulint are left out of tracebacks, like TensorFlow's own",
        )
        for name in ("_EXCLUDED_PATHS", "_process_traceback_frames")
    ),
    Patch(
        f"{_TF}.autograph.core.config.CONVERSION_RULES",
        "AutoGraph leaves tpulint's modules as they are, like TensorFlow's own",
    ),
    Patch(f"{_OPS}.gen_tpu_ops._op_def_library", _FEEDS),
    Patch(f"{_OPS}.gen_tpu_ops.pywrap_tfe", _FEEDS),
    Patch(
        f"{_FRAMEWORK}.auto_control_deps.AutomaticControlDependencies.__exit__",
        "an enqueue runs independently of earlier operations, whatever it is made of here",
    ),
    Patch(
        f"{_OPS}.gradients_util._MarkReachedOps",
        "tf.gradients finds the sources of a result through its marked node",
    ),
    Patch(f"{_FRAMEWORK}.function.func_graph_from_py_func", _UNUSED_NODES),
    Patch(f"{_FRAMEWORK}.function.c_api", _UNUSED_NODES),
    Patch(
        f"{_FRAMEWORK}.func_graph.FuncGraph.capture",
        "a branch in a scratch graph captures each tensor of the user's graph once",
    ),
    Patch(
        f"{_FRAMEWORK}.ops.Graph.is_fetchable",
        "a fetch of what a computation has not returned raises an error that names the rule",
    ),
)

_LISTED = "TensorFlow lists the emulated cores beside its devices"
_RESOLVED = "a TPUClusterResolver finds the emulated cores"
_SYSTEM = "the system that is initialized and shut down is the emulated one"
_REPLICATED = "TensorFlow's own replicate and its kin are the runtime's"
_OUTSIDE = "TensorFlow's own outside_compilation is the runtime's"
_ANY_CORE = "a function called on a free core runs here: its operation has no kernel"
_CORES = "eager tensors report the emulated core that they are on"
_PLACED = "operations of graphs that are placed on emulated cores run on the CPU, and report them"
_REMOTE = "sessions run on the hosts of a pod, if those are processes"
_UNTUNED = "a pipeline that feeds several cores ends at once, and not after its tuning thread"
_EMBEDDING = "the embedding tables are in the host's memory: the operations have no kernel on a CPU"
_HOSTS = "the hosts of a pod are processes, or this one, and the program sees them as machines"
_ONE_CORE = "a replica is on one core, which cannot switch to programs for single shards"

_EMULATED = (
    Patch(f"{_EAGER}.context.Context.list_logical_devices", _LISTED, When.EMULATED),
    Patch(f"{_EAGER}.context.Context.list_physical_devices", _LISTED, When.EMULATED),
    Patch(f"{_TF}.client.session.BaseSession.list_devices", _LISTED, When.EMULATED),
    Patch(
        f"{_EAGER}.context.Context.soft_device_placement",
        "operations meant for devices that do not exist run on the CPU, whatever the program says",
        When.EMULATED,
    ),
    Patch(
        f"{_DISTRIBUTE}.cluster_resolver.tpu.tpu_cluster_resolver.TPUClusterResolver.__init__",
        _RESOLVED,
        When.EMULATED,
    ),
    Patch(
        f"{_DISTRIBUTE}.cluster_resolver.tpu.tpu_cluster_resolver.TPUClusterResolver.cluster_spec",
        _RESOLVED,
        When.EMULATED,
    ),
    Patch(
        f"{_DISTRIBUTE}.cluster_resolver.tpu.tpu_cluster_resolver."
        "TPUClusterResolver.set_tpu_topology",
        "initializing a system again loses the variables on it",
        When.EMULATED,
    ),
    Patch(f"{_EAGER}.context.Context.set_server_def", _HOSTS, When.EMULATED),
    Patch(f"{_EAGER}.context.Context.update_server_def", _HOSTS, When.EMULATED),
    Patch(f"{_EAGER}.context.Context.configure_coordination_service", _HOSTS, When.EMULATED),
    Patch(
        f"{_EAGER}.context.async_wait",
        "nothing waits for a host of a pod that is lost, also not at the end of the program",
        When.EMULATED,
    ),
    Patch(f"{_EAGER}.context.Context.device_name", _HOSTS, When.EMULATED),
    Patch(f"{_EAGER}.context.Context._set_device", _HOSTS, When.EMULATED),
    Patch(f"{_FRAMEWORK}.constant_op.convert_to_eager_tensor", _HOSTS, When.EMULATED),
    Patch(f"{_FRAMEWORK}.ops.EagerTensor._copy_nograd", _HOSTS, When.EMULATED),
    Patch(f"{_OPS}.functional_ops.remote_call", _HOSTS, When.EMULATED),
    Patch(
        f"{_TF}.data.ops.dataset_ops.DatasetV2._apply_debug_options",
        "a pipeline on a host of a pod runs no Python of the program",
        When.EMULATED,
    ),
    Patch(
        f"{_DISTRIBUTE}.failure_handling.failure_handling_util.on_gcp",
        "a handler of preemption does nothing, as on a Cloud TPU",
        When.EMULATED,
    ),
    Patch(f"{_TPU}.ops.tpu_ops.configure_distributed_tpu", _SYSTEM, When.EMULATED),
    Patch(f"{_TPU}.ops.tpu_ops.shutdown_distributed_tpu", _SYSTEM, When.EMULATED),
    Patch(
        f"{_TPU}.ops.tpu_ops.worker_heartbeat",
        "the hosts of an emulated system are well: the operation has no kernel on a CPU",
        When.EMULATED,
    ),
    Patch(f"{_TPU}.tpu.split_compile_and_replicate", _REPLICATED, When.EMULATED),
    Patch(
        f"{_TPU}.tpu_replication.outside_compilation_impl", _OUTSIDE, When.EMULATED, since="2.15"
    ),
    Patch(
        f"{_TPU}.tpu_replication.outside_compilation",
        _OUTSIDE,
        When.EMULATED,
        until="2.12",
    ),
    Patch(f"{_TPU}.tpu.outside_compilation", _OUTSIDE, When.EMULATED, until="2.12"),
    Patch(
        "tensorflow.compat.v1.tpu.outside_compilation",
        _OUTSIDE,
        When.EMULATED,
        until="2.12",
    ),
    Patch(f"{_TPU}.functional.TPUPartitionedCall", _ANY_CORE, When.EMULATED),
    Patch(f"{_TPU}.ops.tpu_ops.tpu_partitioned_call", _ANY_CORE, When.EMULATED),
    Patch(f"{_TPU}.ops.tpu_ops.tpu_ordinal_selector", _ANY_CORE, When.EMULATED),
    Patch(
        f"{_OPS}.gen_tpu_ops.cross_replica_sum",
        "a sum over replicas outside computations is of one replica: it has no kernel on a CPU",
        When.EMULATED,
    ),
    Patch(
        f"{_TPU}.tpu_embedding.TPUEmbedding.__init__",
        "there is no embedding hardware for sessions, and the error says so",
        When.EMULATED,
        until="2.15",
    ),
    Patch(
        f"{_TPU}.tpu_embedding_v3.TPUEmbeddingV2.__init__",
        "there is no SparseCore, and the error says so",
        When.EMULATED,
        since="2.17",
    ),
    Patch(
        f"{_TPU}.tpu_embedding_v2.TPUEmbedding.__init__",
        "what the emulated embedding engine does not offer is refused at once",
        When.EMULATED,
    ),
    *(
        Patch(f"{_TPU}.{name}", _EMBEDDING, When.EMULATED)
        for name in (
            "tpu_embedding_v2._load_variables_impl",
            "tpu_embedding_v2._retrieve_variables_impl",
            "ops.tpu_ops.is_tpu_embedding_initialized",
            "tpu.initialize_system_for_tpu_embedding",
            "ops.tpu_ops.enqueue_tpu_embedding_arbitrary_tensor_batch",
            "ops.tpu_ops.recv_tpu_embedding_activations",
            "ops.tpu_ops.send_tpu_embedding_gradients",
        )
    ),
    Patch(
        f"{_TF}.data.ops.multi_device_iterator_ops.OwnedMultiDeviceIterator.__init__",
        _UNTUNED,
        When.EMULATED,
    ),
    Patch(
        f"{_TF}.data.ops.multi_device_iterator_ops._create_device_dataset",
        _UNTUNED,
        When.EMULATED,
    ),
    *(
        Patch(f"{_TF}.pywrap_tfe.{name}", _CORES, When.EMULATED)
        for name in ("TFE_Py_FastPathExecute", "TFE_Py_Execute", "TFE_Py_ExecuteCancelable")
    ),
    Patch(
        f"{_TF}.pywrap_tfe.TFE_Py_PackEagerTensors",
        "a packed variable is lost with its copies when the system is initialized again",
        When.EMULATED,
    ),
    Patch(f"{_FRAMEWORK}.ops.EagerTensor.device", _CORES, When.EMULATED),
    Patch(f"{_FRAMEWORK}.ops.EagerTensor.backing_device", _CORES, When.EMULATED),
    Patch(
        f"{_EAGER}.polymorphic_function.monomorphic_function._EagerDefinedFunction.__init__",
        _CORES,
        When.EMULATED,
        until="2.12",
    ),
    Patch(
        f"{_EAGER}.polymorphic_function.atomic_function.from_func_graph",
        _CORES,
        When.EMULATED,
        since="2.15",
    ),
    Patch(f"{_FRAMEWORK}.ops.Graph._apply_device_functions", _PLACED, When.EMULATED),
    Patch(f"{_TF}.client.session.BaseSession._extend_graph", _PLACED, When.EMULATED),
    Patch(f"{_TF}.client.session.BaseSession.__init__", _REMOTE, When.EMULATED),
    Patch(f"{_TF}.client.session.BaseSession._call_tf_sessionrun", _REMOTE, When.EMULATED),
    Patch(f"{_TF}.client.session.BaseSession._make_callable_from_options", _REMOTE, When.EMULATED),
    Patch(f"{_TF}.client.session.BaseSession.partial_run_setup", _REMOTE, When.EMULATED),
    Patch(f"{_FRAMEWORK}.ops.Operation.device", _PLACED, When.EMULATED),
    Patch(f"{_FRAMEWORK}.ops.Operation._set_device", _PLACED, When.EMULATED),
    Patch(f"{_FRAMEWORK}.ops.SymbolicTensor.device", _PLACED, When.EMULATED, since="2.15"),
    Patch(
        f"{_DISTRIBUTE}.packed_distributed_variable.PackedDistributedVariable.handle",
        "a packed variable outside computations is that of the current core",
        When.EMULATED,
    ),
    Patch(
        f"{_DISTRIBUTE}.tpu_replicated_variable.TPUReplicatedVariable.handle",
        "a computation takes the first copy of a variable that is on several cores of a replica",
        When.EMULATED,
    ),
    Patch(f"{_XLA}.spmd_full_to_shard_shape", _ONE_CORE, When.EMULATED),
    Patch(f"{_XLA}.spmd_shard_to_full_shape", _ONE_CORE, When.EMULATED),
)

_FOR_A_WHILE = (
    Patch(
        f"{_OPS}.control_flow_util.ENABLE_CONTROL_FLOW_V2",
        "tf.cond and tf.while_loop make operations that hold functions, which can be cut",
        When.BUILDING,
    ),
    *(
        Patch(
            f"{_TF}.pywrap_tfe.{name}",
            "Ctrl-C cancels the functions that run",
            When.INTERRUPTIBLE,
        )
        for name in ("TFE_Py_Execute", "TFE_Py_ExecuteCancelable")
    ),
)

PATCHES = (*_ALWAYS, *_EMULATED, *_FOR_A_WHILE)
