"""Names that mean something between device and host: TensorFlow's, and what Keras runs in a step.

Hand-written: these are concepts, not signatures. Each set says where its fact stands
in TensorFlow or Keras. A dotted name is matched by its end, for projects wrap TensorFlow in
shims (`lingvo.compat.tpu.shard`).
"""

from __future__ import annotations

import sys

from tpulint.ordering import COLLECTIVE_CALLS


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# tensorflow/python/tpu/tpu.py: what traces its first argument into a TPU computation.
REPLICATE_FAMILY = words("""
    replicate split_compile_and_replicate shard split_compile_and_shard batch_parallel rewrite
""")
# Names that mean the TPU's on any base, the rest only after a module called `tpu`.
UNMISTAKABLE = words("""
    split_compile_and_replicate split_compile_and_shard outside_compilation
    experimental_map_outside_compilation TPUEstimator TPUEstimatorSpec TPUGANEstimator
""")
TPU_MODULES = words("tpu tpu_lib contrib_tpu tpu_function tpu_replication tpu_ops")

# What `tf.function(method)` gives of a method of an outside object.
TRACED_METHOD = "tensorflow.function.__call__"

# tensorflow/python/tpu/tpu_replication.py
OUTSIDE_COMPILATION = words("outside_compilation experimental_map_outside_compilation")

# Functions in a TPUEstimatorSpec that run on the host after a step: their tensors leave the device
# for good. By the names of its arguments, with their positions.
HOST_FUNCTIONS = {"host_call": 7, "eval_metrics": 4}
MODEL_FN = "model_fn"  # the kind of a TPUEstimator's computation
SENT = "outside_compilation"  # who takes an argument that crosses to the host
# tensorflow/python/framework/errors_impl.py: the input has ended, or a machine is lost.
OUTER_ERRORS = frozenset(["OutOfRangeError", "UnavailableError", "AbortedError"])
# The calls that need only that something has run: a host order, and no value crosses back.
CONTROL_TAKERS = frozenset(["control_dependencies", "group", "no_op"])

# tensorflow_estimator/python/estimator/mode_keys.py: all members of ModeKeys.
MODES = words("TRAIN EVAL PREDICT")

# A mode and its value, as `mode ==` is compared with it.
TRAINING = frozenset(["TRAIN", "'train'"])
EVALUATION = frozenset(["EVAL", "'eval'"])
PREDICTION = frozenset(["PREDICT", "'infer'"])

# Attributes of TPUReplicateContext that say what is open; the counter only ever grows.
COUNTER = "_outside_compilation_counter"
CONTEXT_STATE = words("_outside_compilation_cluster _outside_compilation_v2_context") | {COUNTER}

# tensorflow/python/distribute/distribute_lib.py, and its older names.
RUN_BEFORE_KERAS_3 = "experimental_run_v2"  # no release with Keras 3 has it
RUNS_ON_REPLICAS = words("run experimental_run_v2")
STRATEGY_RUN = RUNS_ON_REPLICAS | {"experimental_run"}
DISTRIBUTES = words("experimental_distribute_dataset make_dataset_iterator")
# A TPU's strategy calls its function once, where it is (tpu_strategy.py, _call_for_each_replica).
CALL_FOR_EACH_REPLICA = "call_for_each_replica"
TPU_STRATEGIES = words("""
    TPUStrategy TPUStrategyV1 TPUStrategyV2 TPUDistributionStrategy TpuReplicator
""")
OTHER_STRATEGIES = words("""
    MirroredStrategy OneDeviceStrategy MultiWorkerMirroredStrategy ParameterServerStrategy
    ParameterServerStrategyV2 CentralStorageStrategy CollectiveAllReduceStrategy Replicator
""")

# Whatever makes state that outlives a step, by what it makes.
VARIABLES = {
    "variable": words("""
        tf.Variable tf.compat.v1.get_variable tf.compat.v1.get_local_variable
        tf.python.ops.resource_variable_ops.ResourceVariable tf.contrib.framework.add_variable
        mesh_tensorflow.get_variable mesh_tensorflow.ops_with_redefined_builtins.get_variable
        keras.layers.Layer.add_weight keras.layers.Layer.add_variable
    """),
    "table": words("""
        tf.lookup.StaticHashTable tf.lookup.StaticVocabularyTable
        tf.lookup.experimental.MutableHashTable tf.lookup.experimental.DenseHashTable
        tf.contrib.lookup.HashTable tf.contrib.lookup.MutableHashTable
        tf.contrib.lookup.index_table_from_file tf.contrib.lookup.index_table_from_tensor
        tf.contrib.lookup.index_to_string_table_from_file
        tf.contrib.lookup.index_to_string_table_from_tensor
    """),
    "queue": words("""
        tf.queue.FIFOQueue tf.queue.RandomShuffleQueue tf.queue.PaddingFIFOQueue
        tf.queue.PriorityQueue tf.compat.v1.FIFOQueue tf.compat.v1.RandomShuffleQueue
        tf.compat.v1.PaddingFIFOQueue tf.compat.v1.PriorityQueue tf.io.RandomShuffleQueue
        tf.io.PaddingFIFOQueue tf.io.PriorityQueue
    """),
    "section": words("tf.CriticalSection"),
}
VARIABLE_MAKERS = {
    name.rpartition(".")[2]: sort for sort, names in VARIABLES.items() for name in names
}

# Methods of variables, tables, queues and critical sections, by what they do.
READS = words("""
    read_value value sparse_read gather_nd lookup size export dequeue dequeue_many dequeue_up_to
    numpy to_proto initialized_value get
""")
WRITES = words("""
    assign assign_add assign_sub scatter_add scatter_sub scatter_update scatter_nd_add
    scatter_nd_sub scatter_nd_update scatter_max scatter_min scatter_mul scatter_div
    batch_scatter_update insert insert_or_assign remove enqueue enqueue_many execute load
    count_up_to put
""")
# tensorflow/python/ops/resource_variable_ops.py, _lazy_read: what gives the variable itself.
ASSIGNS = words("assign assign_add assign_sub")
# Of these, what no other kind of object has: an unknown receiver is then a variable.
VARIABLE_METHODS = words("""
    assign_add assign_sub read_value sparse_read scatter_add scatter_sub scatter_update
    scatter_nd_add scatter_nd_sub scatter_nd_update batch_scatter_update
""")
# Functions that write their first argument (tf.compat.v1.assign and its kin).
ASSIGN_FUNCTIONS = words("""
    assign assign_add assign_sub scatter_update scatter_add scatter_sub count_up_to
""")
# Attributes of a tensor or a variable that are known without running it.
STATIC_ATTRIBUTES = words("""
    shape dtype name op graph device handle constraint trainable initializer initial_value
    aggregation synchronization get_shape ndim rank
""")
WEIGHT_ATTRIBUTES = words("""
    weights variables trainable_variables trainable_weights non_trainable_variables
    non_trainable_weights
""")
# keras/src/layers: attributes that are one variable each.
SINGLE_WEIGHTS = words("""
    kernel bias embeddings gamma beta moving_mean moving_variance depthwise_kernel pointwise_kernel
    recurrent_kernel
""")

# keras/src/layers: layers that create variables; the others may be made anywhere.
LAYERS_WITH_WEIGHTS = words("""
    Dense EinsumDense Embedding Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose
    DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D LocallyConnected1D
    LocallyConnected2D BatchNormalization SyncBatchNormalization LayerNormalization
    GroupNormalization UnitNormalization PReLU LSTM GRU SimpleRNN LSTMCell GRUCell SimpleRNNCell
    ConvLSTM1D ConvLSTM2D ConvLSTM3D MultiHeadAttention
""")
# keras/src/layers/normalization/batch_normalization.py: layers that write moving averages.
LAYERS_WITH_AVERAGES = words("BatchNormalization SyncBatchNormalization")
# tf.layers, tf.contrib.layers and tf_slim: functions that create the variables of a layer.
FUNCTIONS_WITH_WEIGHTS = words("""
    dense fully_connected linear conv1d conv2d conv3d convolution convolution1d convolution2d
    convolution3d conv2d_transpose conv3d_transpose convolution2d_transpose separable_conv1d
    separable_conv2d separable_convolution2d depthwise_conv2d batch_normalization batch_norm
    layer_norm group_norm instance_norm embed_sequence
""")
# Methods that a framework calls once an object.
BUILD_METHODS = words("build _build setup add_weight create_variables")

# keras/src/metrics/metric.py: methods that touch the variables that a metric owns.
METRIC_METHODS = {
    "update_state": "write",
    "reset_state": "write",
    "reset_states": "write",
    "result": "read",
}

# Optimizer methods that update variables, and the step that they count.
OPTIMIZER_UPDATES = words("minimize apply_gradients apply")
# tensor2tensor/utils/adafactor.py and multistep_optimizer.py, bert/optimization.py (of the package
# bert-tensorflow): optimizers of other packages that are known to sum over no replicas.
BARE_OPTIMIZERS = words(
    "tensor2tensor.utils.adafactor.AdafactorOptimizer"
    " tensor2tensor.utils.multistep_optimizer.MultistepAdamOptimizer"
    " bert.optimization.AdamWeightDecayOptimizer"
)

# transformers/modeling_tf_outputs.py: tensors in what a model of that library gives.
MODEL_OUTPUTS = words("""
    loss logits last_hidden_state pooler_output start_logits end_logits encoder_last_hidden_state
""")

# Calls in which replicas wait for one another; what merge_call is given may do so.
COLLECTIVES = COLLECTIVE_CALLS | {"merge_call"}
REPLICAS = "num_replicas_in_sync"
REPLICA_ID = words("replica_id_in_sync_group replica_id get_replica_id")

# The calls that give one tensor, and no list or tuple of them.
GIVES_ONE_TENSOR = words("""
    reduce_mean reduce_sum reduce_max reduce_min reshape expand_dims squeeze concat stack argmax
    cast identity constant zeros ones zeros_like ones_like get_or_create_global_step
""")
# The names of dtypes.
DTYPES = words("""
    bool string int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
    complex64 complex128
""")
# In the place of a dtype: that in which a Keras layer computes, as its policy says.
COMPUTE_DTYPE = "compute_dtype"
# What sets the policy of all layers that are made later.
SETS_POLICY = words("set_global_policy set_policy set_dtype_policy set_global_dtype_policy")
# Functions that cast, by their names, and those that make a float32 unless their `dtype`, at this
# position, says otherwise.
CASTS = {
    "to_bfloat16": "bfloat16",
    "to_float": "float32",
    "to_double": "float64",
    "to_int32": "int32",
    "to_complex128": "complex128",
}
COMMAND_LINE = "args"  # what is unknown of the options that `parse_args` gives
# tensorflow/python/ops/string_ops.py: functions of `tf.strings` that give strings.
MAKES_TEXT = words("""
    as_string format join lower upper strip substr reduce_join regex_replace
    unicode_encode unicode_transcode
""")
MAKES_FLOATS = {"one_hot": 5, "eye": 3}
# Functions that give what they first take in its dtype.
KEEPS_DTYPE = words("""
    square sqrt rsqrt exp log log1p negative sigmoid tanh softplus floor ceil round sin cos
    stop_gradient reshape transpose expand_dims squeeze tile pad reverse roll gather gather_nd
    broadcast_to reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_logsumexp cumsum
    relu relu6 elu selu gelu leaky_relu silu swish softmax log_softmax dropout l2_normalize
    band_part strided_slice slice
""")
# Functions that take tensors of one dtype: TensorFlow refuses others.
ONE_DTYPE = words("""
    add subtract multiply maximum minimum pow squared_difference concat stack add_n einsum where
""")
REFUSES_OTHERS = ONE_DTYPE | words("""
    divide truediv divide_no_nan greater greater_equal less less_equal equal not_equal conv2d
    depthwise_conv2d bias_add
""")
# Layers of Keras whose result has the dtype in which they compute.
COMPUTING_LAYERS = words("""
    Dense EinsumDense Embedding Conv1D Conv2D Conv3D Conv2DTranspose DepthwiseConv2D
    LayerNormalization BatchNormalization Dropout Activation ReLU
""")
# Contexts that build no operation by themselves.
SCOPES = words("""
    control_dependencies device name_scope variable_scope init_scope colocate_with scope
""")

# What makes a tf.function, called or as a decorator.
TRACERS = words("function defun")
# tensorflow/python/autograph/impl/api.py: decorators that leave Python's control flow alone.
NOT_CONVERTED = words("do_not_convert experimental_do_not_convert")

# Input pipelines: the functions given to these run on the host, outside every computation.
PIPELINE = words("""
    map flat_map interleave filter reduce apply from_generator map_and_batch parallel_interleave
    scan group_by_window bucket_by_sequence_length take_while
""")

# The other methods of datasets and of their iterators (tensorflow/python/data/ops).
DATASET_METHODS = PIPELINE | words("""
    batch padded_batch ragged_batch shard skip take repeat shuffle prefetch cache with_options
    concatenate unbatch window enumerate sparse_batch rebatch snapshot assert_cardinality
    ignore_errors make_one_shot_iterator make_initializable_iterator get_next
""")
# The functions of `tf.data.Dataset` that make one.
DATASET_MAKERS = words("""
    from_tensor_slices from_tensors from_generator range list_files zip random load
    choose_from_datasets sample_from_datasets
""")
# The calls by which a function shows that it makes a dataset, or a row of one.
READS_RECORDS = words("""
    TFRecordDataset TextLineDataset from_tensor_slices list_files parse_single_example
    parse_example prefetch padded_batch
""")
# What is taken for a dataset, because its methods are those of one.
UNSEEN_DATASET = "tensorflow.data.Dataset"
# Python run by a dataset: tensorflow/python/ops/script_ops.py has no kernel on a TPU's worker.
PYTHON_IN_GRAPH = words("py_func py_function numpy_function eager_py_func from_generator")
# Steps of a pipeline that hand on its elements.
KEEP_ELEMENTS = words("batch cache prefetch repeat shuffle take skip with_options filter shard")
# In `apply`, and what keeps the dtypes of dense elements.
KEEP_DTYPES = KEEP_ELEMENTS | words("""
    padded_batch unbatch shuffle_and_repeat ignore_errors batch_and_drop_remainder
    padded_batch_and_drop_remainder
""")
# Calls that read the file that their first argument names.
FILE_READERS = words("""
    TFRecordDataset TextLineDataset FixedLengthRecordDataset CsvDataset SSTableDataset list_files
    read_file image_dataset_from_directory text_dataset_from_directory make_csv_dataset
    make_batched_features_dataset
""")

# Bytes of which one must be in a file for the TPU API to be named in it (see `program.prefilter`).
SIGNS = (
    b"outside_compilation",
    b"split_compile_and_",
    b"tpu.replicate",
    b"tpu.rewrite",
    b"tpu.shard",
    b"tpu.batch_parallel",
    b"initialize_tpu_system",
)
# Signs only where one is made or gets another name: many a file just talks of these classes.
SIGN_CLASSES = (
    b"TPUEstimator",
    b"TPUGANEstimator",
    b"TPUStrategy",
    b"TPUDistributionStrategy",
    b"TpuReplicator",
)

# Classes that projects copy into themselves, each with a parameter that a copy has. Their other
# parameters are not TensorFlow's: copies are made to have some more.
FORKED = {"TPUEstimator": "model_fn", "TPUEstimatorSpec": "mode"}

# Packages that are taken as installed even where the project has a folder of that name.
INSTALLED = words("tensorflow keras tf_keras numpy sonnet absl gin six tpulint")
TENSORFLOW_ROOTS = ("tensorflow", "tf", "keras", "tf_keras", "sonnet", "tensorflow_probability")
# Keras's own packages of models, which are no more the program's code than `keras` is.
KERAS_PACKAGES = words("keras_cv keras_hub keras_nlp")
# Modules in which TensorFlow 2 repeats classes of Keras. TensorFlow 1 has other functions there.
KERAS_MODULES = {
    f"{root}.{module}": f"{root}.keras.{module}"
    for root in ("tensorflow", "tensorflow.compat.v2")
    for module in ("losses", "metrics", "optimizers", "optimizers.legacy", "optimizers.schedules")
}
# Roots of names whose functions compute with Python values and arrays, and build no operation.
BUILDS_NOTHING = sys.stdlib_module_names | {"absl", "builtins", "gin", "numpy", "six"}

# Roots of packages with public functions of the names of Python's own, or of modules.
NAMED_LIKE_PYTHONS = (
    BUILDS_NOTHING | KERAS_PACKAGES | words("cupy fastai jax matplotlib paddle pylab scipy torch")
)

# Packages that report on a run, or set the version of a TPU's software (cloud_tpu_client):
# what they initialize is a service of their own.
REPORTERS = words("clearml cloud_tpu_client comet_ml mlflow neptune wandb")


def is_tensorflow(path: str) -> bool:
    """Return whether a dotted name is TensorFlow's, or of a project's shim over it."""
    first = path.partition(".")[0]
    return first.lstrip(".") in TENSORFLOW_ROOTS or ".compat." in path


# What runs a graph in a way that is not followed, or beside what else runs.
RUNS_APART = words("""
    Coordinator MonitoredSession MonitoredTrainingSession ProcessPoolExecutor QueueRunner
    SingularMonitoredSession Supervisor Thread ThreadPoolExecutor Timer add_queue_runner
    make_callable managed_session partial_run start_new_thread start_queue_runners submit
""")
PARALLEL_PACKAGES = words("_thread asyncio concurrent multiprocessing threading")


# tpu_estimator.py: the argument with the size of all replicas' batch, by what is done.
RESERVED = ("batch_size", "context")  # the params that TPUEstimator sets itself
BATCH_SIZES = {
    "train": ("train_batch_size", 5),
    "evaluate": ("eval_batch_size", 6),
    "predict": ("predict_batch_size", 7),
}
# tpu_context.py, `batch_size_for_input_fn`: the modes in which an input_fn feeds one core.
PER_CORE = frozenset(["PER_HOST_V2", "PER_SHARD_V1"])
CORES_OF_A_HOST = 8

# Python that needs a value while device code is traced.

# Arguments of operations that are fixed on purpose.
FIXED = words("seed name op_seed shape dtype")

# They need the value of a tensor. `Tensor.__getattr__` and `SymbolicTensor` have no such methods.
METHODS = words("numpy item tolist")
# Autograph makes operations of these where it converts (autograph/operators/py_builtins.py).
CONVERTED = words("float int")
# They take tensors, or what can become one, and give one tensor.
ONE_TENSOR = words("""
    abs acos add add_n argmax argmin as_string average_pool bincount bitcast boolean_mask
    broadcast_to cast ceil check_numerics clip_by_norm clip_by_value concat confusion_matrix
    constant convert_to_tensor cos cumsum divide einsum encode_jpeg encode_png equal erf exp
    expand_dims floor floordiv floormod gather gather_nd greater greater_equal in_top_k is_finite
    is_nan l2_loss l2_normalize less less_equal log log_softmax logical_and logical_not logical_or
    matmul maximum minimum mod multiply negative norm not_equal one_hot ones_like pad pow rank
    reciprocal reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean
    reduce_min reduce_prod reduce_std reduce_sum reduce_variance relu repeat reshape resize
    reverse rint round rsqrt scatter_nd segment_sum sigmoid sign sin size slice softmax sort sqrt
    square squeeze stack strided_slice subtract tanh tensordot tile transpose truediv
    unsorted_segment_sum where zeros_like
""")
# NumPy's functions that make no array of a tensor: the others ask `Tensor.__array__`, which fails.
# The first two catch the error, and answer no.
TAKE_ANY_OBJECT = words("array_equal array_equiv flip info isscalar iterable ndim shape")


KERAS_3 = (">=", "2.16")  # the first TensorFlow that installs it
KERAS_2_KEYWORD = "lr"  # of optimizers: those of Keras 3 raise a ValueError for it

# keras/src/backend/tensorflow/trainer.py: what runs a compiled model's steps, and which.
STEPS = {
    "fit": "train_step",
    "fit_generator": "train_step",
    "train_on_batch": "train_step",
    "evaluate": "test_step",
    "evaluate_generator": "test_step",
    "test_on_batch": "test_step",
    "predict": "predict_step",
    "predict_generator": "predict_step",
    "predict_on_batch": "predict_step",
}
# The methods of a model that run its compiled losses or metrics, and where these take the
# labels and the outputs (keras/src/trainers/trainer.py, keras/engine/training.py).
RUNS_METRICS = "compute_metrics"
RUNS_COMPILED = {"compute_loss": (1, 2), "compiled_loss": (0, 1), RUNS_METRICS: (1, 2)}
LABELS, OUTPUTS = "y", "y_pred"
# keras/src/callbacks/callback.py: what `fit` calls on the host.
CALLBACK_METHODS = words("""
    on_train_begin on_train_end on_epoch_begin on_epoch_end on_train_batch_begin on_train_batch_end
    on_batch_begin on_batch_end on_test_begin on_test_end on_predict_begin on_predict_end
    on_test_batch_begin on_test_batch_end on_predict_batch_begin on_predict_batch_end
""")

INPUT = "Input"  # keras/src/layers/core/input_layer.py: a symbolic tensor
SEQUENTIAL = "Sequential"
FUNCTIONAL = words("Model Functional")
# keras/premade_models: models of layers and of other models, in tf.keras.experimental.
PREMADE = words("LinearModel WideDeepModel")
LAMBDA = "Lambda"
# keras/src/layers: layers that call other layers, by the arguments that hold these.
HOLDERS = {
    "TimeDistributed": ("layer",),
    "Bidirectional": ("layer", "backward_layer"),
    "SpectralNormalization": ("layer",),
    "Wrapper": ("layer",),
    "WeightNormalization": ("layer",),
    "WideDeepModel": ("linear_model", "dnn_model"),
}
HOLDS_BY_POSITION = {"layer": 0, "linear_model": 0, "dnn_model": 1}
# The same of cells, which take their state as well.
CELL_HOLDERS = {"RNN": "cell", "StackedRNNCells": "cells"}
# Arguments of layers that are functions of one tensor (keras/src/layers/layer.py).
FUNCTIONS_OF_LAYERS = words("""
    activation recurrent_activation kernel_regularizer bias_regularizer embeddings_regularizer
    activity_regularizer
""")
WEIGHT_REGULARIZERS = words("""
    kernel_regularizer bias_regularizer embeddings_regularizer beta_regularizer gamma_regularizer
    recurrent_regularizer depthwise_regularizer pointwise_regularizer alpha_regularizer
""")
ACTIVATION = "Activation"
# Objects that only hold the function that they call.
FUNCTION_HOLDERS = words("LossFunctionWrapper MeanMetricWrapper")
# keras/src/losses/loss.py: what the reductions do, by their names in small letters.
REDUCTIONS = {
    "none": "none",
    "sum": "sum",
    "auto": "mean",
    "mean": "mean",
    "sum_over_batch_size": "mean",
}
# The parameter of `call` that Keras fills in by itself (keras/src/layers/layer.py).
TRAINING_ARGUMENT = "training"
# keras/src/optimizers/base_optimizer.py: the methods that an optimizer may have of its own.
OPTIMIZER_STEPS = words("apply_gradients update_step _resource_apply_dense")
# tensorflow/python/data/ops/dataset_ops.py: methods whose elements are those that they get.
HAND_ON = words("cache filter prefetch repeat shard shuffle skip take take_while with_options")
HAND_ON |= {"assert_cardinality"}
