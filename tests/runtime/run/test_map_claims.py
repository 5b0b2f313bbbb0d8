"""What `tpulint map` says of a program is what the emulator sees: reads, writes and transfers."""

from __future__ import annotations

import gc
import runpy
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.unit.map.drawn import MAIN, of_file
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.map.pictures.model import CLUSTER, OUTFED, RETURNS, SENDS, ProgramMap
from tpulint.runtime import driver
from tpulint.runtime.run_statistics import Watch, running
from tpulint.runtime.schedule.variables import variables_of

pytestmark = pytest.mark.any_release

STRATEGY = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
on_host = tf.compat.v1.tpu.outside_compilation
"""
STEP = """\

@tf.function
def step(x):
    strategy.run(replica_fn, args=(x,))


step(tf.constant([[2.0, 3.0]]))
"""
RUN = """\

with tf.Graph().as_default(), tf.Session() as session:
    w = tf.get_variable("w", [2, 1], use_resource=True)
    fixed = tf.get_variable("fixed", [1], trainable=False, use_resource=True)
    session.run(tf.tpu.initialize_system())
    built = tf.tpu.rewrite(replica_fn, [tf.constant([[2.0, 3.0]])])
    session.run(tf.global_variables_initializer())
    session.run(built)
"""
PROGRAMS = {
    "the device reads": f"""{STRATEGY}
with strategy.scope():
    w = tf.Variable(1.0, name="w")


def replica_fn(x):
    return x * w

{STEP}""",
    "the device writes": f"""{STRATEGY}
with strategy.scope():
    total = tf.Variable(0.0, name="total", aggregation=tf.VariableAggregation.SUM)


def replica_fn(x):
    total.assign_add(tf.reduce_sum(x), read_value=False)

{STEP}""",
    "the host reads": f"""{STRATEGY}
rate = tf.Variable(0.5, name="rate")


def replica_fn(x):
    return on_host(lambda given: given * rate, x) + 1.0

{STEP}""",
    "the host writes": f"""{STRATEGY}
seen = tf.Variable(0.0, name="seen")


def note(given):
    seen.assign_add(tf.reduce_sum(given))


def replica_fn(x):
    on_host(note, x)
    return x + 1.0

{STEP}""",
    "a value goes and comes back": f"""{STRATEGY}
def half(given):
    return given * 0.5


def replica_fn(x):
    return on_host(half, x * 2.0) + 1.0

{STEP}""",
    "values only go": f"""{STRATEGY}
def show(given):
    tf.print(given)


def replica_fn(x):
    on_host(show, x * 2.0)
    return x

{STEP}""",
    "given gradients": f"""{STRATEGY}
with strategy.scope():
    w = tf.Variable([[1.0], [1.0]], name="w")
    unused = tf.Variable([1.0], name="unused")
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build([w])


def replica_fn(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x @ w)
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))

{STEP}""",
    "a model": f"""{STRATEGY}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(2), tf.keras.layers.Dropout(0.5)])
    model.build([1, 2])
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    measure = tf.keras.losses.MeanSquaredError(reduction="sum")


def replica_fn(x):
    with tf.GradientTape() as tape:
        loss = measure(x, model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

{STEP}""",
    "fit": f"""{STRATEGY}
with strategy.scope():
    layers = [tf.keras.layers.Dense(2), tf.keras.layers.ReLU(), tf.keras.layers.Flatten()]
    model = tf.keras.Sequential(layers)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")

data = tf.data.Dataset.from_tensor_slices((tf.ones([8, 2]), tf.ones([8, 2])))
model.fit(data.batch(4, drop_remainder=True), verbose=0)
""",
    "averages are written to train": f"""{STRATEGY}
with strategy.scope():
    layer = tf.keras.layers.BatchNormalization()
    layer.build([1, 2])


def replica_fn(x):
    return layer(x, training=True)

{STEP}""",
    "averages are read to predict": f"""{STRATEGY}
with strategy.scope():
    layer = tf.keras.layers.BatchNormalization()
    layer.build([1, 2])


def replica_fn(x):
    return layer(x, training=False) + layer(x)

{STEP}""",
    "averages of a layer that is not trained": f"""{STRATEGY}
with strategy.scope():
    layer = tf.keras.layers.BatchNormalization(trainable=False)
    layer.build([1, 2])


def replica_fn(x):
    return layer(x, training=True)

{STEP}""",
    "averages in a model": f"""{STRATEGY}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.BatchNormalization()])
    model.build([1, 2])


def replica_fn(x):
    return model(x, training=True)

{STEP}""",
    "averages in a layer of the program": f"""{STRATEGY}
class Block(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = tf.keras.layers.BatchNormalization()

    def build(self, shape):
        self.norm.build(shape)
        self.built = True

    def call(self, x, training=False):
        return self.norm(x)


with strategy.scope():
    block = Block()
    block.build([1, 2])


def replica_fn(x):
    return block(x, training=True)

{STEP}""",
    "a regularizer": f"""{STRATEGY}
with strategy.scope():
    layer = tf.keras.layers.Dense(2, kernel_regularizer="l2")
    layer.build([1, 2])


def replica_fn(x):
    return tf.reduce_sum(layer(x)) + sum(layer.losses)

{STEP}""",
    "minimize": f"""\
import tensorflow.compat.v1 as tf


def replica_fn(x):
    loss = tf.reduce_sum(tf.matmul(x, w) + fixed)
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss)

{RUN}""",
    "computed gradients": f"""\
import tensorflow.compat.v1 as tf


def replica_fn(x):
    loss = tf.reduce_sum(tf.matmul(x, w))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return optimizer.apply_gradients(optimizer.compute_gradients(loss))

{RUN}""",
    "a loop": f"""{STRATEGY}
with strategy.scope():
    w = tf.Variable(1.0, name="w", aggregation=tf.VariableAggregation.MEAN)


def half(given):
    return given * 0.5


def replica_fn(x):
    for _ in tf.range(2):
        x = on_host(half, x)
        w.assign_sub(0.1, read_value=False)
    return x

{STEP}""",
}


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The variables of each computation that is built."""
    variables: list[Any] = []
    schedule = driver.schedule

    def noted(program: Any, options: Any) -> Any:
        variables.extend(variables_of(program))
        return schedule(program, options)

    monkeypatch.setattr(driver, "schedule", noted)
    yield variables
    gc.collect()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_map_says_what_the_emulator_sees(
    name: str, tmp_path: Path, scheduled: list[Any]
) -> None:
    path = tmp_path / MAIN
    path.write_text(dedent(PROGRAMS[name]), encoding="utf-8")
    claimed = of_file(path).program
    with running(2, None) as watch:
        runpy.run_path(str(path), run_name="__main__")
    assert claimed_touches(claimed) == seen_touches(scheduled, claimed)
    assert claimed_transfers(claimed) == seen_transfers(watch)


def claimed_touches(program: ProgramMap) -> set[tuple[str, str, str]]:
    """Return (variable, lane, mode) of each touch; the count of steps is read to be written."""
    return {
        (variable.name, touch.lane, touch.mode)
        for drawn in program.computations
        for variable in drawn.variables
        if variable.sort != "step"
        for touch in variable.touches
    }


def seen_touches(variables: list[Any], program: ProgramMap) -> set[tuple[str, str, str]]:
    """Return the same; the variables of a model have the name of its weights."""
    weights = {
        variable.name
        for drawn in program.computations
        for variable in drawn.variables
        if variable.sort == "weights"
    }
    (whole,) = weights or {""}
    return {
        (
            whole or variable.name,
            HOST_LANE if touch.on_host else DEVICE_LANE,
            "write" if touch.writes else "read",
        )
        for variable in variables
        if not variable.is_global_step and "learning_rate" not in variable.name
        for touch in (*variable.on_device, *variable.on_host)
    }


def claimed_transfers(program: ProgramMap) -> set[tuple[bool, bool]]:
    """Return for each host cluster whether it takes tensors and whether it gives some."""
    return {
        (
            any(
                edge.crossings
                for edge in drawn.edges
                if edge.target == node.key and edge.kind == SENDS
            ),
            any(
                edge.crossings
                for edge in drawn.edges
                if edge.source == node.key and edge.kind == RETURNS
            ),
        )
        for drawn in program.computations
        for node in drawn.nodes
        if node.kind in (CLUSTER, OUTFED)
    }


def seen_transfers(watch: Watch) -> set[tuple[bool, bool]]:
    return {
        (total.bytes_to_host > 0, total.bytes_to_device > 0)
        for totals in watch.computations.values()
        for lane, total in totals.lanes.items()
        if lane not in ("device", "infeed", "outfeed")
    }
