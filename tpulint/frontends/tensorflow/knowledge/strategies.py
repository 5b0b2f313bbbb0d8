"""Names that show how a program uses distribution strategies: eagerly or in graphs, in scopes.

Hand-written, as `tf_names`: each set says where its fact is in TensorFlow.
"""

from __future__ import annotations

from tpulint.frontends.tensorflow.knowledge.tables import function_preserving
from tpulint.frontends.tensorflow.knowledge.tf_names import ONE_TENSOR, STEPS, words

# Code that names one of these builds graphs (framework/ops.py, client/session.py).
GRAPH_MODE = words("""
    disable_eager_execution disable_v2_behavior Session InteractiveSession MonitoredSession
    MonitoredTrainingSession placeholder contrib
""")
# Code that names one of these runs eagerly even where it imports the names of TensorFlow 1.
EAGER_MODE = words("enable_eager_execution enable_v2_behavior")
# Calls that only eager code can make, or makes before it traces anything.
ONLY_EAGER = words("""
    numpy experimental_distribute_dataset experimental_distribute_datasets_from_function
    distribute_datasets_from_function experimental_connect_to_cluster initialize_tpu_system
""")

# tensorflow/python/tpu/tpu_strategy_util.py: what clears the TPU, variables and all.
INITIALIZES = words("initialize_tpu_system")
SHUTS_DOWN = words("shutdown_tpu_system")

# A strategy can be set, or its scope entered, without a `with` block (distribute_lib.py).
SCOPE_BY_HAND = words("__enter__ enter_context experimental_set_strategy")
# IPython's method that runs a cell which is given as text: `nbconvert` writes it for `%%time`.
RUNS_CELL = "run_cell_magic"

# keras/src: what gives a model that has its variables, and the methods that make them.
MODELS_WITH_VARIABLES = words("load_model model_from_json clone_model")
MAKE_VARIABLES = words("build summary set_weights load_weights")
INPUTS = words("Input InputLayer")
INPUT_SHAPES = words("input_shape batch_input_shape input_dim")

# Decorators that make no tf.function of what they are given.
PLAIN_DECORATORS = function_preserving() | words("""
    configurable register overrides override abstractmethod staticmethod classmethod property setter
    parameters named_parameters flagsaver patch fixture parametrize skip skipIf no_type_check
    deprecated contextmanager dataclass command group option argument main pass_context
""")

# tensorflow/python/distribute/distribute_lib.py: what a replica is refused by
# `require_cross_replica_or_default_context_extended` (`gather` says it itself), but for `run` and
# `scope`; and what makes values of all replicas, of which a replica can take none.
REFUSED_BY_EACH = words("reduce gather reduce_to batch_reduce_to broadcast_to")
REFUSED_ON_REPLICAS = REFUSED_BY_EACH | words("make_input_fn_iterator make_dataset_iterator")
OF_ALL_REPLICAS = words("""
    experimental_distribute_dataset distribute_datasets_from_function
    experimental_distribute_datasets_from_function experimental_distribute_values_from_function
""")

# tensorflow/python/tpu/tpu_embedding_v2.py: what is refused where the object was made under no
# TPUStrategy; and of these what is an operation of the TPU's cores.
EMBEDDING = "TPUEmbedding"
EMBEDDING_MODULES = words("tpu.experimental.embedding tpu.tpu_embedding_v2")
OF_EMBEDDINGS = words("enqueue dequeue apply_gradients")
EMBEDDINGS_ON_CORES = words("dequeue apply_gradients")

# tensorflow/python/eager/polymorphic_function/eager_function_run.py: with it no tf.function traces.
RUNS_EAGERLY = words("run_functions_eagerly experimental_run_functions_eagerly")
# keras/src/trainers/trainer.py: what runs a compiled model's step by `strategy.run`.
KERAS_RUNS = frozenset(STEPS)

# tensorflow/python/distribute/values.py: a `PerReplica` is no tensor, and has no operators.
# These are Python's, which ask for one number.
ASK_ONE_NUMBER = words("float int round abs isnan isinf isfinite sqrt exp log fabs")
# Of NumPy, which makes an array of objects of it, and then computes with these.
NUMPY_NUMBERS = words("""
    abs argmax argmin argsort average clip concatenate exp float32 float64 int32 int64 isfinite
    isinf isnan log mean median nanmean round sqrt std var
""")
# These make a tensor of what they are given (`tf.identity`, `tf.print` and `tf.nest` do not).
OPERATIONS_ON_TENSORS = ONE_TENSOR | words("""
    assert_all_finite histogram image moments scalar shape split text top_k unique unstack
""")
# tensorflow/python/distribute/values_util.py: what `SyncOnReadVariable` refuses if it sums.
SUMS_AND_DIFFERENCES = words("assign_add assign_sub")
# The operators that it refuses, by their classes in Python's syntax; `==` and truth it has.
COMPUTE_WITH_OPERATORS = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "FloorDivide": "//",
    "Power": "**",
    "MatrixMultiply": "@",
    "LessThan": "<",
    "LessThanEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanEqual": ">=",
    "Minus": "-",
}
# tensorflow/python/distribute/values.py: `PerReplica` has none of these.
OF_ONE_TENSOR = words("shape dtype device ndim get_shape")
ADD_OR_JOIN = words("Add Multiply LessThan LessThanEqual GreaterThan GreaterThanEqual")

# tensorflow/python/eager/backprop.py and the optimizers: what gives gradients.
GRADIENTS = words("gradient gradients compute_gradients get_gradients jacobian batch_jacobian")
# What makes one number, or one row, of a whole batch.
STATISTICS = words("""
    reduce_mean reduce_sum reduce_max reduce_min reduce_std reduce_variance reduce_logsumexp
    reduce_prod moments mean sum max min std var norm global_norm weighted_moments
""")

# tensorflow/python/ops/stateless_random_ops.py: one seed, one result, on whatever device.
STATELESS_DRAWS = words("""
    stateless_uniform stateless_normal stateless_truncated_normal stateless_random_uniform
    stateless_random_normal
""")

# What hands a loss on as large as it is, and what scales one (tensorflow/python/ops/nn_impl.py).
SUMS_OF_LOSSES = words("""
    Add add add_n accumulate_n sum Subtract subtract Minus negative weigh identity cast
    check_numerics
""")
SCALES = words("compute_average_loss scale_regularization_loss Divide Multiply divide multiply")
AVERAGE_LOSS = "compute_average_loss"
# keras/src/layers/layer.py: what regularizers ask for, and what adds it up.
LOSSES_OF_MODEL = "losses"
ADDS_LOSSES = words("add_n reduce_sum sum")
# keras/src/optimizers: those whose step does not grow with the gradients.
SCALE_FREE = words("Adam AdamW Adamax Nadam RMSprop Adagrad Adadelta Adafactor Lion Lamb LAMB Muon")
