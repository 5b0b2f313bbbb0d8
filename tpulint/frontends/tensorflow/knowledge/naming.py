"""Heuristics on names: what the analysis takes from the words that a program chooses.

A fact about a program is read from its tree. Where the tree cannot say it, because a flag, a
package or a function is not seen, a name is the last hint. Each hint is one pattern here, under
the reason why nothing better is known; rules and queries have none of their own. Most hints make a
rule silent, or a finding possible. `TPU_FLAG` even decides which branch device code takes: that a
program which asks for a TPU runs on one is the premise of all rules.

A pattern is applied to one word: a dotted name (`FLAGS.use_tpu`), or a constant string with its
quotes (`'gpu'`), see `frontends.tensorflow.branch_tests.words`.
"""

from __future__ import annotations

import re


class NamePattern:
    """A pattern of names. The comment above each gives the reason for guessing by it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = re.compile(pattern)

    def is_in(self, word: str) -> bool:
        """Return whether a part of `word` looks like this."""
        return self.pattern.search(word) is not None

    def is_whole(self, word: str) -> bool:
        """Return whether all of `word` looks like this."""
        return self.pattern.fullmatch(word) is not None


# Flags and machines. The flag of a command line is not seen, and neither is its default's change.

# A flag that is true where a TPU is used: its value comes from a command line.
TPU_FLAG = NamePattern(
    r"_*(?:(?:use|uses|using|is|is_on|on|with|run_on|running_on|enable|has|have|found)_tpus?"
    r"|tpus?_(?:devices|cores|available|enabled)|is_xla_compiled)"
)
# The name of a TPU, None where none is used: it comes from a command line.
TPU_NAME = NamePattern(r"_*tpu_(?:name|address|worker)")
# The environment variable by which tensorflow_hub reads a model from Cloud Storage.
HUB_FORMAT = NamePattern(r"TFHUB_MODEL_LOAD_FORMAT")
# The address or the name of a hub's layer: what that holds is not seen.
PREPROCESSING = NamePattern(r"(?i)preprocess|tokeniz")
# A flag that is false where a TPU is used: its value comes from a command line.
GPU_FLAG = NamePattern(r"_*(?:use|uses|using|with|run_on|running_on)_gpus?")
# A name with a TPU in it: what is for GPUs and for TPUs is no GPU's.
TPU = NamePattern(r"(?i)tpu")
# A test or function for GPUs: no TPU gets there, but the number of GPUs is not seen.
GPU = NamePattern(r"(?i)(?<![a-z])(?:gpus?|cuda|nccl|mirrored(?:strategy)?|horovod)(?![a-z])")
# A test that may ask what a program runs on: another test is answered alike on each device.
DEVICE = NamePattern(
    r"(?i)[tgc]pu|cuda|device|strateg|distribut|mirrored|accelerator|hardware|backend|platform"
)
# A test for debugging: it is false in the runs that count, but its flag is not seen.
DEBUGGING = NamePattern(r"(?i)debug(?!ging\.)|vlog|verbos")

# What a test asks for, where it is a call of unseen code or the attribute of an unseen value.

# A test of a dtype or a policy: what it guards may be meant for that dtype alone.
DTYPE = NamePattern(
    r"(?i)float16|float64|fp16|fp64|half|double|lossscale|loss_scale|mixed|precision|policy|dtype"
)
# A test of a static shape: a loop there may be unrolled by Python.
SHAPE = NamePattern(r"(?i)static|shape|dynamic|fully_defined|unroll")
# A test whether code runs eagerly, or a value is concrete.
EAGER = NamePattern(r"eager|is_tensor|is_symbolic|ndarray|numpy")
# A test of what kind of value is given: another kind may never get there.
KIND_OF_VALUE = NamePattern(r"hasattr|isinstance")
# A test for sparse tensors: the values are not seen, but none of a TPU's is one.
SPARSE = NamePattern(r"(?i)sparse_?tensor|is_sparse")
# A test whether a replica runs this: the branch is then chosen for who runs it.
REPLICA = NamePattern(r"replica_context|has_strategy")
# A batch size that is named after what all replicas get together.
GLOBAL_BATCH = NamePattern(r"(?i)global")
# A test of how many replicas there are: with one, a value of all replicas is a tensor.
ONE_REPLICA = NamePattern(
    r"(?i)num_(?:replicas|cores|workers|gpus|devices)|replicas|distribut|perreplica|per_replica"
)
# A test whether summaries are written: programs answer no on a TPU.
SUMMARIES = NamePattern(r"summar")
# A test of an Estimator's mode: `mode` may have come by way of unseen code.
EVALUATION = NamePattern(r"EVAL\b|['\"]eval['\"]")
# An input function for training or evaluation that nothing calls: nobody says what it is for.
INPUT_FN = NamePattern(r"^(?!.*(?:predict|infer|serving|test)).*input_fn")
# A test of an Estimator's mode, as above.
PREDICTION = NamePattern(r"(?:PREDICT|INFER)\b|['\"](?:predict|infer)['\"]")
# A test of any mode of an Estimator.
MODE = NamePattern(r"(?:TRAIN|EVAL|PREDICT|INFER)\b|['\"](?:train|eval|predict|infer)['\"]")
# A test of an Estimator's mode for training.
TRAINING = NamePattern(r"TRAIN\b|['\"]train['\"]")
# An identifier or a string that names a TPU: a program without one has no TPU strategy.
TPU_WORD = NamePattern(r"(?i)tpu(?<!outpu)")

# What a star import of a module that is not read gives, by the name that all programs give it.
HANDED_ON = {"tf": "tensorflow", "np": "numpy", "os": "os", "time": "time", "random": "random"}

# Calls and objects of packages that are not read.

# A value that is called a strategy: where it is made is not seen.
STRATEGY = NamePattern(r"(?i)strateg|distribution|replicator")
# A value that is called a session: where it is made is unseen.
SESSION = NamePattern(r"(?i)sess(ion)?\b")
# A value that is called a graph: where it is made is not seen.
GRAPH = NamePattern(r"(?i)graph")
# A call that is named after the writer of summaries that it makes.
WRITER = NamePattern(r"(?i)writer")
# An object of a module that is named after its data: a dataset.
DATASET = NamePattern(r"(?i)data")
# A call of unseen code that is named after the dataset it makes.
DATASET_MAKER = NamePattern(r"(?i)\.data\.|dataset")
# A call that is named after the `host_call` it makes: its module was not read.
HOST_CALL = NamePattern(r"(?i)host_call")
# A call that is named after the feed or queue it fills: its code is not read.
ENQUEUES = NamePattern(r"(?i)enqueue")
# A module or call that is named after its random numbers.
RANDOM = NamePattern(r"random")
# A call that is named after the initializer it makes.
INITIALIZER = NamePattern(r"(?i)initializer")
# A module that shows values to a human.
LOGGING = NamePattern(r"logging")
# A device's name, in one of the many forms that `tf.device` takes.
CPU = NamePattern(r"(?i)cpu")
# A wrapper of an optimizer, in any of the packages with one.
CROSS_SHARD = NamePattern(r"CrossShard")
# An optimizer that is named after how it sums gradients, in a package that is not read.
SUMS_GRADIENTS = NamePattern(r"(?i)shard|distributed|replica|allreduce|all_reduce|horovod|tpu")
# A call that is named after training: it may update variables in code that is not read.
TRAINS = NamePattern(r"train|optimi[sz]|minimi[sz]e|apply_grad|backward|update(?!_state)")
# A program that names a precision chooses one, perhaps by a flag or in a helper.
PRECISION = NamePattern(r"(?i)bfloat16|bf16|float16|fp16|half|mixed|precision|policy")
# A function that is named after what input pipelines do: the advice is to do it there.
PREPARES_INPUT = NamePattern(
    r"strings?[._]|lookup|decode|parse|read_file|regex|sparse_tensor_to|unicode"
)
# A call of code that is not read, and may initialize the TPU system.
MAY_INITIALIZE = NamePattern(
    r"(?i)(?<!ou)tpu|init|connect|setup|strateg|device|accelerator|runtime"
)
# An identifier or a string that names an initialization of the TPU system.
INITIALIZES = NamePattern(r"initialize_(?:tpu_)?system")
# A class that is named after the TPU that it resolves.
RESOLVER = NamePattern(r"Resolver$")
# A class that is named after the optimizer it is: its package is not read.
OPTIMIZER = NamePattern(r"Optimizer$")
# A class that is named after the session hook it is: its package is not read.
HOOK = NamePattern(r"Hook$")
