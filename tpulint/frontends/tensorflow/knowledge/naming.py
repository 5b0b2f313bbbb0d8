"""Heuristics on names: what the analysis takes from the words that a program chooses.

A fact about a program is read from its tree. Where the tree cannot say it, because a flag, a
package or a function is not seen, a name is the last hint. Each hint is one row here, with the
reason why nothing better is known; rules and queries have no patterns of their own. Most hints make
a rule silent, or a finding possible. `TPU_FLAG` even decides which branch device code takes: that a
program which asks for a TPU runs on one is the premise of all rules.

A row is applied to one word: a dotted name (`FLAGS.use_tpu`), or a constant string with its quotes
(`'gpu'`), see `frontends.tensorflow.branch_tests.words`.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class NamePattern(NamedTuple):
    """A pattern of names, and the reason for guessing by it."""

    pattern: re.Pattern[str]
    reason: str

    def is_in(self, word: str) -> bool:
        """Return whether a part of `word` looks like this."""
        return self.pattern.search(word) is not None

    def is_whole(self, word: str) -> bool:
        """Return whether all of `word` looks like this."""
        return self.pattern.fullmatch(word) is not None


def _row(pattern: str, reason: str) -> NamePattern:
    return NamePattern(re.compile(pattern), reason)


# Flags and machines. The flag of a command line is not seen, and neither is its default's change.
TPU_FLAG = _row(
    r"_*(?:(?:use|uses|using|is|is_on|on|with|run_on|running_on|enable|has|have|found)_tpus?"
    r"|tpus?_(?:devices|cores|available|enabled)|is_xla_compiled)",
    "a flag that is true where a TPU is used: its value comes from a command line",
)
TPU_NAME = _row(
    r"_*tpu_(?:name|address|worker)",
    "the name of a TPU, None where none is used: it comes from a command line",
)
HUB_FORMAT = _row(
    r"TFHUB_MODEL_LOAD_FORMAT",
    "the environment variable by which tensorflow_hub reads a model from Cloud Storage",
)
PREPROCESSING = _row(
    r"(?i)preprocess|tokeniz",
    "the address or the name of a hub's layer: what that holds is not seen",
)
GPU_FLAG = _row(
    r"_*(?:use|uses|using|with|run_on|running_on)_gpus?",
    "a flag that is false where a TPU is used: its value comes from a command line",
)
TPU = _row(r"(?i)tpu", "a name with a TPU in it: what is for GPUs and for TPUs is no GPU's")
GPU = _row(
    r"(?i)(?<![a-z])(?:gpus?|cuda|nccl|mirrored(?:strategy)?|horovod)(?![a-z])",
    "a test or function for GPUs: no TPU gets there, but the number of GPUs is not seen",
)
DEVICE = _row(
    r"(?i)[tgc]pu|cuda|device|strateg|distribut|mirrored|accelerator|hardware|backend|platform",
    "a test that may ask what a program runs on: another test is answered alike on each device",
)
DEBUGGING = _row(
    r"(?i)debug(?!ging\.)|vlog|verbos",
    "a test for debugging: it is false in the runs that count, but its flag is not seen",
)

# What a test asks for, where it is a call of unseen code or the attribute of an unseen value.
DTYPE = _row(
    r"(?i)float16|float64|fp16|fp64|half|double|lossscale|loss_scale|mixed|precision|policy|dtype",
    "a test of a dtype or a policy: what it guards may be meant for that dtype alone",
)
SHAPE = _row(
    r"(?i)static|shape|dynamic|fully_defined|unroll",
    "a test of a static shape: a loop there may be unrolled by Python",
)
EAGER = _row(
    r"eager|is_tensor|is_symbolic|ndarray|numpy",
    "a test whether code runs eagerly, or a value is concrete",
)
KIND_OF_VALUE = _row(
    r"hasattr|isinstance",
    "a test of what kind of value is given: another kind may never get there",
)
SPARSE = _row(
    r"(?i)sparse_?tensor|is_sparse",
    "a test for sparse tensors: the values are not seen, but none of a TPU's is one",
)
REPLICA = _row(
    r"replica_context|has_strategy",
    "a test whether a replica runs this: the branch is then chosen for who runs it",
)
GLOBAL_BATCH = _row(
    r"(?i)global", "a batch size that is named after what all replicas get together"
)
ONE_REPLICA = _row(
    r"(?i)num_(?:replicas|cores|workers|gpus|devices)|replicas|distribut|perreplica|per_replica",
    "a test of how many replicas there are: with one, a value of all replicas is a tensor",
)
SUMMARIES = _row(
    r"summar",
    "a test whether summaries are written: programs answer no on a TPU",
)
EVALUATION = _row(
    r"EVAL\b|['\"]eval['\"]",
    "a test of an Estimator's mode: `mode` may have come by way of unseen code",
)
INPUT_FN = _row(
    r"^(?!.*(?:predict|infer|serving|test)).*input_fn",
    "an input function for training or evaluation that nothing calls: nobody says what it is for",
)
PREDICTION = _row(
    r"(?:PREDICT|INFER)\b|['\"](?:predict|infer)['\"]",
    "a test of an Estimator's mode, as above",
)
MODE = _row(
    r"(?:TRAIN|EVAL|PREDICT|INFER)\b|['\"](?:train|eval|predict|infer)['\"]",
    "a test of any mode of an Estimator",
)
TRAINING = _row(r"TRAIN\b|['\"]train['\"]", "a test of an Estimator's mode for training")
TPU_WORD = _row(
    r"(?i)tpu(?<!outpu)",
    "an identifier or a string that names a TPU: a program without one has no TPU strategy",
)

# What a star import of a module that is not read gives, by the name that all programs give it.
HANDED_ON = {"tf": "tensorflow", "np": "numpy", "os": "os", "time": "time", "random": "random"}

# Calls and objects of packages that are not read.
STRATEGY = _row(
    r"(?i)strateg|distribution|replicator",
    "a value that is called a strategy: where it is made is not seen",
)
SESSION = _row(r"(?i)sess(ion)?\b", "a value that is called a session: where it is made is unseen")
GRAPH = _row(r"(?i)graph", "a value that is called a graph: where it is made is not seen")
WRITER = _row(r"(?i)writer", "a call that is named after the writer of summaries that it makes")
DATASET = _row(r"(?i)data", "an object of a module that is named after its data: a dataset")
DATASET_MAKER = _row(
    r"(?i)\.data\.|dataset", "a call of unseen code that is named after the dataset it makes"
)
HOST_CALL = _row(
    r"(?i)host_call",
    "a call that is named after the `host_call` it makes: its module was not read",
)
ENQUEUES = _row(
    r"(?i)enqueue", "a call that is named after the feed or queue it fills: its code is not read"
)
RANDOM = _row(r"random", "a module or call that is named after its random numbers")
INITIALIZER = _row(r"(?i)initializer", "a call that is named after the initializer it makes")
LOGGING = _row(r"logging", "a module that shows values to a human")
CPU = _row(r"(?i)cpu", "a device's name, in one of the many forms that `tf.device` takes")
CROSS_SHARD = _row(r"CrossShard", "a wrapper of an optimizer, in any of the packages with one")
SUMS_GRADIENTS = _row(
    r"(?i)shard|distributed|replica|allreduce|all_reduce|horovod|tpu",
    "an optimizer that is named after how it sums gradients, in a package that is not read",
)
TRAINS = _row(
    r"train|optimi[sz]|minimi[sz]e|apply_grad|backward|update(?!_state)",
    "a call that is named after training: it may update variables in code that is not read",
)
PRECISION = _row(
    r"(?i)bfloat16|bf16|float16|fp16|half|mixed|precision|policy",
    "a program that names a precision chooses one, perhaps by a flag or in a helper",
)
PREPARES_INPUT = _row(
    r"strings?[._]|lookup|decode|parse|read_file|regex|sparse_tensor_to|unicode",
    "a function that is named after what input pipelines do: the advice is to do it there",
)
MAY_INITIALIZE = _row(
    r"(?i)(?<!ou)tpu|init|connect|setup|strateg|device|accelerator|runtime",
    "a call of code that is not read, and may initialize the TPU system",
)
INITIALIZES = _row(
    r"initialize_(?:tpu_)?system",
    "an identifier or a string that names an initialization of the TPU system",
)
RESOLVER = _row(r"Resolver$", "a class that is named after the TPU that it resolves")
OPTIMIZER = _row(
    r"Optimizer$", "a class that is named after the optimizer it is: its package is not read"
)
HOOK = _row(r"Hook$", "a class that is named after the session hook it is: its package is not read")
