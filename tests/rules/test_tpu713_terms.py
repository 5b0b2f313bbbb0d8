"""TPU713, term by term: which parts of a loss are scaled, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import SYSTEM

PROGRAM = (
    SYSTEM
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.1)


def terms(x, y):
    errors = tf.square(model(x) - y)
    return {"mean": tf.reduce_mean(errors), "sum": tf.reduce_sum(errors) / 64}


def replica_step(x, y):
    with tf.GradientTape() as tape:
        loss = {loss}
    gradients = tape.gradient(loss, model.trainable_variables)
    {clips}
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(x, y):
    strategy.run(replica_step, args=(x, y))


train_step(tf.ones([8, 4]), tf.ones([8, 1]))
"""
)
MEAN, SUM = "terms(x, y)['mean']", "terms(x, y)['sum']"
OF_WEIGHTS = "tf.add_n([tf.nn.l2_loss(weight) for weight in model.trainable_variables])"

UNSCALED = {
    "a mean in a dict": MEAN,
    "a mean with a weight of its own": f"10.0 * {MEAN}",
    "a mean beside a penalty": f"{MEAN} + 1e-4 * {OF_WEIGHTS}",
    "a mean that is subtracted": f"-{MEAN}",
    "the losses of a model, added by Python": f"{SUM} + sum(model.losses)",
    "a penalty of the weights": f"{SUM} + 1e-4 * {OF_WEIGHTS}",
}
SCALED = {
    "a mean times a replica's share": f"0.125 * {MEAN}",
    "all of it is divided": f"({MEAN} + 1e-4 * {OF_WEIGHTS}) / strategy.num_replicas_in_sync",
    "the losses are divided": f"{SUM} + sum(model.losses) / strategy.num_replicas_in_sync",
    "the losses are scaled": f"{SUM} + tf.nn.scale_regularization_loss(sum(model.losses))",
    "a square error is no penalty": "tf.nn.l2_loss(model(x) - y) / 64",
    "an average has a weight": f"0.5 * tf.nn.compute_average_loss([{SUM}], global_batch_size=64)",
}
CLIPS = (
    "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)",
    "gradients = [tf.clip_by_norm(gradient, 1.0) for gradient in gradients]",
)


def found(tmp_path: Path, loss: str, clips: str = "") -> list[str]:
    text = PROGRAM.replace("{loss}", loss).replace("{clips}", clips)
    return certainties(text, tmp_path, "TPU713")


@pytest.mark.parametrize("loss", UNSCALED.values(), ids=UNSCALED)
def test_a_term_that_is_not_scaled_is_found(loss: str, tmp_path: Path) -> None:
    assert found(tmp_path, loss) == ["possible"]


@pytest.mark.parametrize("loss", SCALED.values(), ids=SCALED)
def test_a_term_that_is_scaled_is_silent(loss: str, tmp_path: Path) -> None:
    assert found(tmp_path, loss) == []


@pytest.mark.parametrize("clips", CLIPS)
def test_gradients_that_are_clipped_are_summed_all_the_same(clips: str, tmp_path: Path) -> None:
    assert found(tmp_path, MEAN, clips) == ["possible"]


AVERAGE = "tf.nn.compute_average_loss(tf.reduce_sum(terms(x, y)['rows'], -1){size})"
SIZES = {
    "": "definite",
    ", None, 8 * strategy.num_replicas_in_sync": "definite",
    ", global_batch_size=strategy.num_replicas_in_sync": "definite",
    ", global_batch_size=64": "possible",
    ", global_batch_size=64 // strategy.num_replicas_in_sync": "possible",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("penalty", ["tf.add_n(model.losses)", f"1e-4 * {OF_WEIGHTS}"])
def test_a_loss_of_the_batch_of_all_replicas_is_certain(
    size: str, penalty: str, tmp_path: Path
) -> None:
    text = PROGRAM.replace("{loss}", f"{AVERAGE.format(size=size)} + {penalty}")
    text = text.replace("{clips}", "").replace('"sum":', '"rows": errors, "sum":')
    assert certainties(text, tmp_path, "TPU713") == [SIZES[size]]


@pytest.mark.parametrize("size", SIZES)
def test_a_mean_of_what_is_averaged(size: str, tmp_path: Path) -> None:
    text = f"""{SYSTEM}
def evaluate(x):
    return tf.nn.compute_average_loss(tf.reduce_sum(x, axis=-1){size})

@tf.function
def step(x):
    return strategy.reduce("MEAN", strategy.run(evaluate, args=(x,)), axis=None)

step(tf.ones([8, 4]))
"""
    assert certainties(text, tmp_path, "TPU713") == [SIZES[size]]


@pytest.mark.parametrize(
    ("batches", "verdict"),
    [
        ("rows.batch(64)", "definite"),
        ("rows.shuffle(9).repeat().batch(64, drop_remainder=True)", "definite"),
        ("rows.batch(8)", "possible"),
        ("rows", "possible"),
        ("rows.batch(64 // strategy.num_replicas_in_sync)", "possible"),
    ],
)
def test_a_loss_of_the_batch_that_is_distributed(
    batches: str, verdict: str, tmp_path: Path
) -> None:
    text = f"""{SYSTEM}
rows = tf.data.Dataset.from_tensor_slices(tf.ones([640, 4]))

def evaluate(x):
    return tf.nn.compute_average_loss(tf.reduce_sum(x, axis=-1), global_batch_size=64)

@tf.function
def step(x):
    return strategy.reduce("MEAN", strategy.run(evaluate, args=(x,)), axis=None)

for x in strategy.experimental_distribute_dataset({batches}):
    step(x)
"""
    assert certainties(text, tmp_path, "TPU713") == [verdict]
