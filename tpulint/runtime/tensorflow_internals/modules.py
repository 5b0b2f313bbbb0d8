"""TensorFlow's private modules, which no other file imports."""

from __future__ import annotations

from tensorflow.compiler.tf2xla.python import xla as tf2xla
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf.tpu import topology_pb2, tpu_embedding_configuration_pb2
from tensorflow.python import eager, pywrap_tfe
from tensorflow.python.autograph.core import config as autograph_config
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.client import session
from tensorflow.python.compiler.xla import xla
from tensorflow.python.compiler.xla.experimental import xla_sharding
from tensorflow.python.data.ops import dataset_ops, multi_device_iterator_ops
from tensorflow.python.distribute import (
    device_util,
    packed_distributed_variable,
    tpu_replicated_variable,
    tpu_util,
)
from tensorflow.python.distribute.cluster_resolver.tpu import tpu_cluster_resolver
from tensorflow.python.distribute.failure_handling import failure_handling_util
from tensorflow.python.eager import backprop_util, execute, polymorphic_function, tape
from tensorflow.python.eager import context as eager_context
from tensorflow.python.eager import core as eager_core
from tensorflow.python.framework import (
    c_api_util,
    composite_tensor,
    constant_op,
    errors_impl,
    func_graph,
    function_def_to_graph,
    kernels,
    op_def_registry,
    ops,
    random_seed,
)
from tensorflow.python.framework import device as pydev
from tensorflow.python.framework import function as old_function
from tensorflow.python.framework.auto_control_deps import AutomaticControlDependencies
from tensorflow.python.ops import (
    control_flow_ops,
    control_flow_util,
    functional_ops,
    gen_script_ops,
    gen_tpu_ops,
    gradients_util,
    handle_data_util,
    script_ops,
    variable_scope,
)
from tensorflow.python.saved_model import save_context
from tensorflow.python.tpu import functional as tpu_functional
from tensorflow.python.tpu import (
    topology,
    tpu_embedding_v2,
    tpu_embedding_v2_utils,
    tpu_function,
    tpu_name_util,
    tpu_replication,
    tpu_strategy_util,
    training_loop,
)
from tensorflow.python.tpu import tpu as tensorflow_tpu
from tensorflow.python.tpu.ops import tpu_ops
from tensorflow.python.training import basic_session_run_hooks
from tensorflow.python.util import nest, tf_stack, traceback_utils, variable_utils

try:  # of sessions: it left TensorFlow after the Estimator
    from tensorflow.python.tpu import tpu_embedding
except ImportError:
    tpu_embedding = None
try:  # for the SparseCore: since 2.17
    from tensorflow.python.tpu import tpu_embedding_v3
except ImportError:
    tpu_embedding_v3 = None

xla_data_pb2 = xla_sharding.xla_data_pb2
record = getattr(eager, "record", tape)  # 2.12 has it in `tape`
