"""What a map has to know of TensorFlow and Keras: all that `tpulint.map` asks of this front end."""

from __future__ import annotations

import re

from tpulint.absint.domain.events import ApiCall, Computation, Variable
from tpulint.absint.domain.objects import ContextManagerValue, ExternalObject
from tpulint.frontends.tensorflow.keras_models import FITS
from tpulint.frontends.tensorflow.keras_models import is_dataset as is_dataset
from tpulint.frontends.tensorflow.keras_models import steps as steps
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.operations import builds as built_on_host
from tpulint.frontends.tensorflow.knowledge.tf_names import HOST_FUNCTIONS as HOST_FUNCTIONS
from tpulint.frontends.tensorflow.knowledge.tf_names import SENT as SENT

# The calls of an estimator, by the values that `mode` has then.
MODES = {
    "train": tf_names.TRAINING,
    "evaluate": tf_names.EVALUATION,
    "predict": tf_names.PREDICTION,
}
EVALUATED = "eval_metrics"  # the kind of cluster that runs only to evaluate
# The pipeline of a call of `fit` that each step of Keras does not get: `fit` has both.
OTHER_STEPS = {"train_step": "evaluate", "test_step": "fit"}
KERAS_STEP = "keras.Model.train_step"  # of a model whose class is Keras' own
TAKEN = frozenset(["gradient", "gradients", "jacobian"])  # a variable is named, and not touched
HOLDERS = frozenset(["Sequential", "Model", "TimeDistributed", "Bidirectional", "RNN", "Wrapper"])
LOGGING = re.compile(r"(^|\.)(logging|logger|log)\.")  # it is given tensors, and builds nothing
SCOPES = frozenset(["as_default", "record_if"])  # of summary writers: they build no operation


def has_modes(computation: Computation) -> bool:
    """Return whether an estimator builds the computation, for one mode at a time."""
    return computation.kind == tf_names.MODEL_FN


def maker_of(computation: Computation) -> str:
    """Return what compiles the computation, as the program calls it."""
    if has_modes(computation):
        return "TPUEstimator"
    return computation.call.last if computation.call.last in FITS else computation.kind


def may_build(call: ApiCall) -> bool:
    """Return whether the call may build an operation: it makes no layer, scope or line of log."""
    kinds = (ContextManagerValue, ExternalObject, Variable)
    if isinstance(call.result, kinds) or not call.last.isidentifier():
        return False
    if LOGGING.search(call.path) or call.path.partition(".")[0] in tf_names.BUILDS_NOTHING:
        return False
    return call.last not in SCOPES


def operations_on_host(path: str) -> tuple[str, ...]:
    """Return the operations without a TPU kernel that a call builds."""
    built = built_on_host(path)
    return built.operations if built is not None else ()


def is_update(call: ApiCall) -> bool:
    """Return whether an optimizer updates variables in the call."""
    return call.last in tf_names.OPTIMIZER_UPDATES or is_whole_step(call)


def is_update_name(name: str) -> bool:
    """Return whether a method of this name updates variables."""
    return name in tf_names.OPTIMIZER_UPDATES


def is_whole_step(call: ApiCall) -> bool:
    """Return whether the call is Keras' own step, which updates all that the model computes."""
    return call.path == KERAS_STEP


def has_own_weights(call: ApiCall) -> bool:
    """Return whether a function such as `tf.layers.dense` makes weights and reads them."""
    library, _, function = call.path.rpartition(".")
    return function in tf_names.FUNCTIONS_WITH_WEIGHTS and library.endswith(("layers", "slim"))


def may_have_weights(maker: ApiCall) -> bool:
    """Return whether the object may have weights: losses and most layers of Keras have none."""
    if "keras" not in maker.path:
        return True
    if ".layers." in maker.path:
        return maker.last in tf_names.LAYERS_WITH_WEIGHTS or maker.last in HOLDERS
    return ".losses." not in maker.path
