"""The table of errors of TensorFlow and Keras: its texts are theirs, and they lead to findings."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from scripts.proof import REFUSALS, Refusal
from tpulint.codes import CODES
from tpulint.frontends.tensorflow.knowledge.tables import (
    RAISED_ERRORS,
    load_toml,
    raised_error,
    text_pattern,
)
from tpulint.run.explain import explain, release_that_ran
from tpulint.run.failure import failure_of

ROWS = load_toml(RAISED_ERRORS)["error"]
INSTALLED = Path(tf.__file__).parents[1]
tf1 = tf.compat.v1
RELEASE = tuple(map(int, tf.__version__.split(".")[:2]))

ESTIMATOR = """\
import tensorflow as tf

tf1 = tf.compat.v1
tpu1 = tf1.estimator.tpu


def input_fn(params):
    pairs = tf.data.Dataset.from_tensors((tf.ones([3]), tf.ones([1])))
    return pairs.repeat(32).batch(params["batch_size"], drop_remainder=True)


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean((tf.matmul(features, tf1.get_variable("w", [3, 1])) - labels) ** 2)
    one = tf.reshape(loss, [1])
    optimizer = tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.1))
    train = optimizer.minimize(loss, global_step=tf1.train.get_global_step())

    def host_fn(losses):
        return tf.identity(losses)

    host_call = (host_fn, [one])
    return tpu1.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=host_call)


tf1.disable_control_flow_v2()
estimator = tpu1.TPUEstimator(
    model_fn,
    config=tpu1.RunConfig(
        cluster=tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu"), model_dir="FOLDER"
    ),
    train_batch_size=8,
    params={"rate": 0.1},
)
estimator.train(input_fn, max_steps=1)
"""
# Text of the sound program, the fault in its place, and the rule.
ESTIMATORS = [
    ("return tf.identity(losses)", "return tf.identity(losses) + loss", "TPU601"),
    ("def host_fn(losses)", "def host_fn(losses, steps)", "TPU602"),
    ("host_fn, [one]", "host_fn, [loss]", "TPU603"),
    # Two findings of the rule: each is a fault that raises the error.
    ("(host_fn, [one])", "(lambda left, right: left, [loss, loss + 1.0])", "TPU603"),
    (
        "tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.1))",
        "tf1.train.GradientDescentOptimizer(0.1)",
        "TPU604",
    ),
    (", drop_remainder=True", "", "TPU605"),
    ('{"rate": 0.1}', '{"rate": 0.1, "batch_size": 8}', "TPU606"),
    ("train_batch_size=8", "train_batch_size=9", "TPU606"),
    ("(host_fn, [one])", "[host_fn]", "TPU608"),
    ("(host_fn, [one])", "host_fn", "TPU608"),
    ("(host_fn, [one])", "(host_fn, one)", "TPU608"),
    ("(host_fn, [one])", "(one, [one])", "TPU608"),
    ("train(input_fn, max_steps=1)", "evaluate(input_fn, steps=1)", "TPU610"),
    ("train(input_fn, max_steps=1)", "predict(input_fn).__next__()", "TPU610"),
    ("    train_batch_size=8,\n", "    predict_batch_size=8,\n", "TPU610"),
    ("repeat(32)", "repeat(2)", "TPU612"),
]
# What a metric_fn returns for the tensor x that it gets.
METRICS = [
    '{"m": -x}',
    '{"m": tf.reduce_mean(x)}',
    '{"m": 3}',
    "[tf1.metrics.mean(x)]",
    '{"m": tf.keras.metrics.Mean()}',
    '{"loss": tf1.metrics.mean(x)}',
]
STRATEGY = """\
import math
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
STEPS = [
    ("TPU407", "(x, tf.group(x * 2.0))"),
    ("TPU407", "(x, {'done': tf.no_op()})"),
    ("TPU501", "tf.data.Dataset.range(8).reduce(x, lambda total, _: total + x)"),
    ("TPU504", "(x * 2.0, 'done')"),
    ("TPU504", "'done'"),
    ("TPU507", "[1.0, 2.0][tf.cast(x, tf.int32)]"),
    ("TPU507", "{1: 2.0}[x * 2.0]"),
    ("TPU507", "x.item()"),
    ("TPU507", "x.tolist()"),
    ("TPU507", "math.log(x)"),
    ("TPU801", "tf.estimator.tpu.CrossShardOptimizer(x)"),
    ("TPU802", "strategy.experimental_make_numpy_dataset(x)"),
]
# A line that a finding and the error share, although the one has nothing to do with the other.
SPENT = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="grpc://10.240.1.2:8470")
strategy = tf.distribute.TPUStrategy(resolver)
spent = iter(tf.data.Dataset.range(0))
lines = tf.data.TextLineDataset("/content/names.txt"); spent.get_next()
batches = strategy.experimental_distribute_dataset(lines.batch(8, drop_remainder=True))
"""


def error_of(program: str, folder: Path) -> BaseException | None:
    """Return the error that ends the program on an emulated TPU."""
    path = folder / "program.py"
    path.write_text(program.replace("FOLDER", str(folder / "model")), encoding="utf-8")
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    with tpu.emulated_tpu(num_replicas=2):
        try:
            exec(code, {"__name__": "__main__"})
        except Exception as error:
            return error
    return None


def linked(error: BaseException | None, folder: Path) -> list[tuple[str, str]]:
    """Return the rule that the report's heading names, and that of the finding below it."""
    failure = failure_of(error)
    if failure is None:
        return []
    frames = tuple(frame for frame in failure.frames if "tests" not in Path(frame[0]).parts)
    program = str(folder / "program.py")
    faults = explain([failure._replace(frames=frames)], program, release=release_that_ran()).faults
    return [(fault.code, fault.finding.code) for fault in faults if fault.finding is not None]


def test_no_row_is_written_twice() -> None:
    assert [row for number, row in enumerate(ROWS) if row in ROWS[:number]] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"])
def test_each_text_is_in_its_source(row: dict[str, Any]) -> None:
    assert set(row["rules"]) <= set(CODES)
    file = row.get("source", row.get("through", ""))
    assert raised_error([row["type"]], row["text"], [f"/lib/{file}"]) is not None
    since, until = (
        tuple(map(int, row[key].split("."))) if key in row else RELEASE
        for key in ("since", "until")
    )
    if "source" not in row or not since <= RELEASE <= until:
        return
    path = INSTALLED / row["source"]
    if "estimator" in row["source"] and not path.exists():
        assert RELEASE >= (2, 16)
        return
    assert text_pattern(row["text"]).search("\n".join(texts_of(path))), row["text"]


IS_OLD = RELEASE <= (2, 12)
NOT_LINKED = [row for row in REFUSALS if row.is_old == IS_OLD and (IS_OLD or RELEASE >= (2, 16))]

if NOT_LINKED:

    @pytest.mark.parametrize("row", NOT_LINKED, ids=lambda row: row.text)
    def test_each_error_that_belongs_to_no_rule_is_in_its_source(row: Refusal) -> None:
        """docs/proof.md lists them."""
        assert raised_error(["ValueError", "Exception"], row.text, [f"/lib/{row.file}"]) is None
        texts = "\n".join(texts_of(INSTALLED / row.file))
        assert text_pattern(row.text).search(texts)


def texts_of(path: Path) -> list[str]:
    """Return the string literals of a file, with `{}` where a value is put in."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(re.sub("%[sr]", "{}", node.value))
        elif isinstance(node, ast.JoinedStr):
            parts = (
                value.value if isinstance(value, ast.Constant) else "{}" for value in node.values
            )
            texts.append("".join(parts))
    return texts


if hasattr(tf.compat.v1, "estimator"):

    @pytest.mark.parametrize(("sound", "wrong", "rule"), ESTIMATORS)
    def test_an_error_of_the_estimator_leads_to_its_finding(
        sound: str, wrong: str, rule: str, tmp_path: Path
    ) -> None:
        assert ESTIMATOR.count(sound) == 1
        error = error_of(ESTIMATOR.replace(sound, wrong), tmp_path)
        assert linked(error, tmp_path) == [(rule, rule)], error

    def test_an_initializer_in_the_computation_leads_to_its_restore(tmp_path: Path) -> None:
        with tf1.Graph().as_default(), tf1.Session() as session:
            tf1.get_variable("w", initializer=tf.ones([3, 1]))
            session.run(tf1.global_variables_initializer())
            path = tf1.train.Saver().save(session, str(tmp_path / "saved"))
        restore = f"tf1.train.init_from_checkpoint({path!r}, {{'w': 'w'}})"
        program = ESTIMATOR.replace("    one = ", f"    {restore}\n    one = ")
        error = error_of(program, tmp_path)
        assert linked(error, tmp_path) == [("TPU613", "TPU613")], error

    @pytest.mark.parametrize("result", METRICS)
    def test_what_a_metric_fn_returns_leads_to_its_finding(result: str, tmp_path: Path) -> None:
        program = ESTIMATOR.replace(
            "host_call=host_call", f"eval_metrics=(lambda x: {result}, [labels])"
        ).replace("train(input_fn, max_steps=1)", "evaluate(input_fn, steps=1)")
        sized = program.replace("train_batch_size=8", "train_batch_size=8, eval_batch_size=8")
        error = error_of(sized, tmp_path)
        assert linked(error, tmp_path) == [("TPU611", "TPU611")], error


@pytest.mark.parametrize(("rule", "wrong"), STEPS)
def test_an_error_in_a_step_leads_to_its_finding(rule: str, wrong: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
@tf.function
def step(x):
    return strategy.run(lambda x: {wrong}, args=(x,))

step(tf.constant(1.0))
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [(rule, rule)], error


@pytest.mark.parametrize("saved", ["checkpoint", "manager"])
def test_what_a_step_saves_leads_to_its_call(saved: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
checkpoint = tf.train.Checkpoint()
manager = tf.train.CheckpointManager(checkpoint, "FOLDER", max_to_keep=1)

@tf.function
def step(x):
    return strategy.run(lambda x: {saved}.save(), args=(x,))

step(tf.constant(1.0))
""".replace("checkpoint.save()", "checkpoint.save('FOLDER')")
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU507", "TPU507")], error


@pytest.mark.parametrize("joined", ["all_reduce('SUM', x)", "all_gather(x, axis=0)"])
def test_the_absent_context_of_a_replica_leads_to_its_call(joined: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
x = tf.ones([1])
with strategy.scope():
    tf.distribute.get_replica_context().{joined}
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU712", "TPU712")], error


@pytest.mark.parametrize(
    "batch",
    [
        "next(batches)",
        "strategy.experimental_distribute_values_from_function(lambda _: tf.constant(1.0)) + x",
        "[y for y in strategy.experimental_distribute_dataset(dataset)]",
        "[x for number, y in enumerate(strategy.experimental_distribute_dataset(dataset))]",
        "enumerated(strategy.experimental_distribute_dataset(dataset))",
        "batches.get_next()",
        "batches.get_next_as_optional()",
        "total(batches)",
        "first(batches)",
    ],
)
def test_an_error_of_what_all_replicas_have_leads_to_its_call(batch: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
dataset = tf.data.Dataset.from_tensor_slices(tf.ones([8])).batch(4, drop_remainder=True)
batches = iter(strategy.experimental_distribute_dataset(dataset))

def total(data):
    total = 0.0
    for y in data:
        total += tf.reduce_sum(y)
    return total

def first(data):
    total = 0.0
    for y in data:
        total += tf.reduce_sum(y)
        break
    return total

def enumerated(data):
    total = 0.0
    for number, y in enumerate(data):
        total += tf.reduce_sum(y)
    return total

def replica_step(x):
    return {batch}

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))

step(tf.constant(1.0))
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU705", "TPU705")], error


# What TensorFlow and Keras say of the values of all replicas, in a step and outside it.
VALUES = [
    "train(lambda: tf.reduce_sum(x))",
    "train(lambda: x * 2.0)",
    "train(lambda: tf.concat([x, x], axis=0))",
    "train(lambda: double(x))",
    "train(lambda: model(x))",
    "train(lambda: kept.assign(x))",
    "model(x)",
    "model.predict(x)",
    "model.train_on_batch(x, x)",
    "strategy.reduce('SUM', tf.constant(3.0), axis=None)",
]


@pytest.mark.parametrize("use", VALUES)
def test_an_error_of_values_of_all_replicas_leads_to_their_use(use: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
    kept = tf.Variable(tf.zeros([2, 4]))

dataset = tf.data.Dataset.from_tensor_slices(tf.ones([8, 4])).batch(4, drop_remainder=True)

@tf.function
def double(y):
    return y * 2.0

def train(function):
    return strategy.run(tf.function(function))

for x in strategy.experimental_distribute_dataset(dataset):
    {use}
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU711", "TPU711")], error


if tf.keras.__version__ >= "3":

    @pytest.mark.parametrize("outside", ["model", "compile"])
    def test_fit_leads_to_what_is_created_outside_the_scope(outside: str, tmp_path: Path) -> None:
        """The line of `fit`, which fails, is none of the finding's."""
        model = "model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])"
        compiled = 'model.compile("adam", "mse")'
        if outside == "model":
            compiled = f"with strategy.scope():\n    {compiled}"
        else:
            model = f"with strategy.scope():\n    {model}"
        program = f"""{STRATEGY}
{model}
{compiled}
model.fit(tf.ones([4, 2]), tf.ones([4, 1]), batch_size=4)
"""
        error = error_of(program, tmp_path)
        assert linked(error, tmp_path) == [("TPU702", "TPU702")], error

    @pytest.mark.parametrize(("scale", "rule"), [("1.0", "TPU702"), ("max(y, 1.0)", "TPU507")])
    def test_fit_leads_into_the_model(scale: str, rule: str, tmp_path: Path) -> None:
        program = f"""{STRATEGY}
class Net(tf.keras.Model):
    def call(self, x):
        y = tf.reduce_sum(self.part(x))
        return self.part(x) * {scale}

with {"strategy.scope()" if rule == "TPU507" else "tf.name_scope('part')"}:
    part = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
with strategy.scope():
    net = Net()
    net.part = part
    net.compile("adam", "mse")
net.fit(tf.ones([4, 2]), tf.ones([4, 1]), batch_size=4)
"""
        assert linked(error := error_of(program, tmp_path), tmp_path) == [(rule, rule)], error


@pytest.mark.parametrize("body", ["double(x)", "scaled(x)"])
def test_the_name_of_a_lambda_leads_to_the_lambda(body: str, tmp_path: Path) -> None:
    program = f"""{STRATEGY}
def double(x):
    return strategy.run(lambda y: 2.0 * y, args=(x,))

def scaled(x):
    with tf.name_scope("scaled"):
        return double(x)

tf.function(
    lambda x: {body}
)(tf.constant(1.0))
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU715", "TPU715")], error


def test_a_batch_that_an_embedding_refuses_leads_to_its_pipeline(tmp_path: Path) -> None:
    """The error arises where the batch is enqueued, its cause is where it is made."""
    program = f"""{STRATEGY}
embedding = tf.tpu.experimental.embedding
table = embedding.TableConfig(vocabulary_size=8, dim=2)
with strategy.scope():
    words = embedding.TPUEmbedding(embedding.FeatureConfig(table=table), embedding.SGD(0.1))

@tf.function
def step(iterator):
    words.enqueue(next(iterator), training=False)
    return strategy.run(words.dequeue)

dataset = tf.data.Dataset.range(8, output_type=tf.int32).batch(4)
options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
step(iter(strategy.experimental_distribute_dataset(dataset, options)))
"""
    error = error_of(program, tmp_path)
    assert linked(error, tmp_path) == [("TPU605", "TPU605")], error


if tf.keras.__version__ < "3":
    OUTSIDE = {
        "model": """
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
with strategy.scope():
    model.compile("sgd", "mse")
""",
        "metric": """
metric = tf.keras.metrics.MeanSquaredError()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[metric])
""",
        "slot": """
weight = tf.Variable([1.0])
with strategy.scope():
    optimizer = tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)

@tf.function
def step():
    strategy.run(lambda: optimizer.apply_gradients([(tf.ones([1]), weight)]))

step()
""",
    }

    @pytest.mark.parametrize("outside", OUTSIDE)
    def test_compile_leads_to_what_is_created_outside_the_scope(
        outside: str, tmp_path: Path
    ) -> None:
        error = error_of(STRATEGY + OUTSIDE[outside], tmp_path)
        assert linked(error, tmp_path) == [("TPU702", "TPU702")], error

    def test_the_first_layer_leads_to_the_policy_that_it_refuses(tmp_path: Path) -> None:
        program = f"""{STRATEGY}
tf.keras.mixed_precision.set_global_policy("mixed_float16")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.ones([4, 1]), tf.ones([4, 1]), batch_size=4)
"""
        try:
            error = error_of(program, tmp_path)
        finally:
            tf.keras.mixed_precision.set_global_policy("float32")
        assert linked(error, tmp_path) == [("TPU504", "TPU504")], error


def test_an_error_of_another_kind_is_not_linked_to_a_finding_at_its_line(tmp_path: Path) -> None:
    error = error_of(SPENT, tmp_path)
    assert isinstance(error, tf.errors.OutOfRangeError)
    assert linked(error, tmp_path) == []
    findings = explain([], str(tmp_path / "program.py"), [str(tmp_path / "program.py")]).checked
    assert [(finding.code, finding.span.start.row) for finding in findings.findings] == [
        ("TPU607", 6)
    ]


UNSCALED = f"""{STRATEGY}
with strategy.scope():
    weight = tf.Variable([1.0])
    optimizer = tf.keras.optimizers.SGD(0.1)

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(weight * x)
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.ones([4]))
"""


@pytest.mark.parametrize("comment", ["", "  # noqa: TPU713"])
def test_a_loss_that_is_not_scaled_is_a_hint(comment: str, tmp_path: Path) -> None:
    """No step can tell it; what the author has suppressed is not said again."""
    line = "loss = tf.reduce_mean(weight * x)"
    file = tmp_path / "program.py"
    file.write_text(UNSCALED.replace(line, line + comment), encoding="utf-8")
    checked = explain([], str(file), [str(file)]).checked
    rows = [(hint.code, hint.span.start.row) for hint in checked.hints]
    assert rows == ([] if comment else [("TPU713", UNSCALED.partition(line)[0].count("\n") + 1)])


if tf.keras.__version__ >= "3":

    def test_a_metric_of_numpy_leads_to_its_operation(tmp_path: Path) -> None:
        """Keras asks for the rank of its result, which has none, and hides the frames."""
        program = f"""{STRATEGY}
import numpy as np

def ranks(y, prediction):
    return tf.numpy_function(lambda y, prediction: np.float32(1.0), [y, prediction], tf.float32)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[ranks])
model.fit(tf.ones([4, 4]), tf.ones([4, 1]), batch_size=4, verbose=0)
"""
        error = error_of(program, tmp_path)
        assert linked(error, tmp_path) == [("TPU501", "TPU501")], error
