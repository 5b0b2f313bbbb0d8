"""The models of strategy_program.py without a strategy: what of a step is XLA's own.

    python -m benchmarks.bare_steps MODEL compiled|plain COUNT

COUNT training steps are in one function and need nothing of each other, as the steps of replicas do
between their sums. Prints the figures of strategy_program.py as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tensorflow as tf

from benchmarks.strategy_program import MODELS, run


def steps(name: str, count: int, *, compiled: bool) -> Any:
    """Return a function of `count` training steps, which return the changed weights."""
    model_of, data = MODELS[name]
    model, (inputs, labels) = model_of(), data()
    trained = [
        tf.constant(trainable_variable.numpy()) for trainable_variable in model.trainable_variables
    ]
    others = [
        tf.constant(non_trainable_variable.numpy())
        for non_trainable_variable in model.non_trainable_variables
    ]

    @tf.function(jit_compile=compiled or None)  # type: ignore[untyped-decorator]
    def one(weights: Any, inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            logits, changed = model.stateless_call(weights, others, inputs, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, weights)
        dense = map(tf.convert_to_tensor, gradients)
        updated = [old - 0.01 * gradient for old, gradient in zip(weights, dense, strict=True)]
        return loss, updated, changed

    # Weights of their own keep TensorFlow from making one step of all.
    of_steps = [[weight + 0.001 * number for weight in trained] for number in range(count)]
    return tf.function(lambda: [one(weights, inputs, labels) for weights in of_steps])


def main(arguments: list[str]) -> None:
    name, way, count = arguments[0], arguments[1], int(arguments[2])
    print(json.dumps(run(lambda: steps(name, count, compiled=way == "compiled"))))


if __name__ == "__main__":
    main(sys.argv[1:])
