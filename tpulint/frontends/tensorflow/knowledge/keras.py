"""Names of what Keras runs in a step: parts of models and layers, and arguments of `compile`.

Hand-written, as `tf_names`: each set says where its fact is in Keras.
"""

from __future__ import annotations

from tpulint.frontends.tensorflow.knowledge.tf_names import words

KERAS_3 = (">=", "2.16")  # the first TensorFlow that installs it

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
RUNS_LOSSES = {"compute_loss": (1, 2), "compiled_loss": (0, 1)}
RUNS_METRICS = {"compute_metrics": (1, 2)}
LABELS, OUTPUTS = "y", "y_pred"
# keras/src/callbacks/callback.py: what `fit` calls on the host.
CALLBACK_METHODS = words(
    """
    on_train_begin on_train_end on_epoch_begin on_epoch_end on_train_batch_begin
    on_train_batch_end on_batch_begin on_batch_end on_test_begin on_test_end on_predict_begin
    on_predict_end on_test_batch_begin on_test_batch_end on_predict_batch_begin
    on_predict_batch_end
    """
)

INPUT = "Input"  # keras/src/layers/core/input_layer.py: a symbolic tensor
SEQUENTIAL = "Sequential"
FUNCTIONAL = words("Model Functional")
LAMBDA = "Lambda"
# keras/src/layers: layers that call other layers, by the arguments that hold these.
HOLDERS = {
    "TimeDistributed": ("layer",),
    "Bidirectional": ("layer", "backward_layer"),
    "SpectralNormalization": ("layer",),
    "Wrapper": ("layer",),
    "WeightNormalization": ("layer",),
}
# The same of cells, which take their state as well.
CELL_HOLDERS = {"RNN": "cell", "StackedRNNCells": "cells"}
# Arguments of layers that are functions of one tensor (keras/src/layers/layer.py).
FUNCTIONS_OF_LAYERS = words(
    """
    activation recurrent_activation kernel_regularizer bias_regularizer embeddings_regularizer
    activity_regularizer
    """
)
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
TRAINING = "training"
# keras/src/optimizers/base_optimizer.py: the methods that an optimizer may have of its own.
OPTIMIZER_STEPS = words("apply_gradients update_step _resource_apply_dense")
