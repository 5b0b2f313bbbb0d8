"""Arguments that a TPUEstimator certainly or possibly refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tests.rules.openings import NETWORK
from tpulint.check import driver
from tpulint.config import Config
from tpulint.finding import Certainty

FAMILY = ["TPU606"]
BEGIN = (
    NETWORK
    + """
import library
import sys

more = len(sys.argv) > 1

def config(**options):
    settings = tf.estimator.tpu.TPUConfig(**options)
    return tf.estimator.tpu.RunConfig(tpu_config=settings)

"""
)
# The arguments after the model_fn, and the certainty of the finding; "" for silence.
PARAMS = {
    '{"batch_size": 8}': "definite",
    '{"context": 8}': "definite",
    '{"batch_size": 8} if more else {"rate": 0.1}': "possible",
    '{"batch_size": 8} if more else {"batch_size": 9}': "definite",
    '{"batch_size": 8} if more else None': "possible",
    '{"rate": 0.1}': "",
    "tf.contrib.training.HParams(batch_size=8)": "definite",
    "tf.contrib.training.HParams(rate=0.1)": "",
    "tf.data.Options(batch_size=8)": "",
    "library.settings(batch_size=8)": "",
    "library.params": "",
    '["batch_size"]': "",
}


@pytest.mark.parametrize("params", PARAMS)
def test_params_are_refused_as_certainly_as_they_hold_a_reserved_key(
    params: str, tmp_path: Path
) -> None:
    creation = f"tf.estimator.tpu.TPUEstimator(model_fn, params={params}, config=config())\n"
    findings = reported(BEGIN + creation, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == (
        [PARAMS[params]] if PARAMS[params] else []
    )


BATCHES = {
    "train_batch_size=12, config=config()": "possible",
    "train_batch_size=64, config=config()": "",
    "train_batch_size=12, config=config(num_shards=5)": "definite",
    "train_batch_size=15, config=config(num_shards=5)": "",
    "train_batch_size=12, config=config(num_shards=None)": "possible",
    "eval_batch_size=12, config=config(num_shards=5)": "possible",
    "predict_batch_size=12, config=config()": "possible",
    "train_batch_size=12, config=config(num_shards=len(sys.argv))": "",
    "train_batch_size=12, config=config(num_cores_per_replica=2)": "",
    "train_batch_size=12, config=config(num_shards=5, num_cores_per_replica=2)": "definite",
    "train_batch_size=len(sys.argv), config=config()": "",
    "train_batch_size=None, config=config(num_shards=5)": "",
    "train_batch_size=12.5, config=config(num_shards=5)": "",
    "train_batch_size=12, use_tpu=False, config=config(num_shards=5)": "",
    "train_batch_size=12, config=library.config(num_shards=5)": "",
    "train_batch_size=12, config=config(per_host_input_for_training=library.MODE)": "",
    "train_batch_size=12, config=config("
    "per_host_input_for_training=tf.estimator.tpu.InputPipelineConfig.BROADCAST)": "",
}


@pytest.mark.parametrize("params", BATCHES)
def test_batches_are_refused_as_certainly_as_the_replicas_are_counted(
    params: str, tmp_path: Path
) -> None:
    creation = f"estimator = tf.estimator.tpu.TPUEstimator(model_fn, {params})\n"
    trained = "estimator.train(library.input_fn)\n" if "train_batch_size" in params else ""
    findings = reported(BEGIN + creation + trained, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == (
        [BATCHES[params]] if BATCHES[params] else []
    )


# A flag's default, the replicas, and the certainty.
DEFAULTS = {
    ("33", "num_shards=8"): "possible",
    ("64", "num_shards=8"): "",
    ("None", "num_shards=8"): "",
    ("library.SIZE", "num_shards=8"): "",
    # The default may be for another number of cores, which is not seen here.
    ("33", ""): "",
    ("33", "num_shards=FLAGS.cores"): "",
}


@pytest.mark.parametrize(("default", "shards"), DEFAULTS)
def test_the_default_of_a_flag_is_a_batch_size(default: str, shards: str, tmp_path: Path) -> None:
    program = f"""
FLAGS = tf.flags.FLAGS
tf.flags.DEFINE_integer("batch", {default}, "rows of a batch")
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, train_batch_size=FLAGS.batch, config=config({shards}))
estimator.train(library.input_fn)
"""
    findings = reported(BEGIN + program, tmp_path, FAMILY)
    certainty = DEFAULTS[default, shards]
    assert [finding.certainty for finding in findings] == ([certainty] if certainty else [])


SCRIPT = """
import tensorflow as tf
import library

flags = tf.flags
FLAGS = flags.FLAGS
{}
def main(_):
    estimator = tf.estimator.tpu.TPUEstimator(
        library.model_fn,
        use_tpu={},
        train_batch_size=FLAGS.train_batch_size,
        config=tf.estimator.tpu.RunConfig(
            tpu_config=tf.estimator.tpu.TPUConfig(num_shards=8)
        ),
    )
    estimator.train(library.input_fn)

if __name__ == "__main__":
    tf.app.run()
"""
SIZE = 'flags.DEFINE_integer("train_batch_size", {}, "rows of a batch")\n'
DEVICE = 'flags.DEFINE_bool("use_tpu", {}, "whether a TPU is used")\n'


def test_false_alarm_scripts_that_define_one_flag_with_defaults_of_their_own(
    tmp_path: Path,
) -> None:
    """One script had the default 1, and that was reported of the others, which import it."""
    first = SCRIPT.format(SIZE.format(1), True)
    (tmp_path / "first.py").write_text(first)
    (tmp_path / "second.py").write_text("import first\n" + SCRIPT.format(SIZE.format(8), True))
    (tmp_path / "third.py").write_text("import first, second\n" + SCRIPT.format("", True))
    config = Config(root=str(tmp_path), certainty=Certainty.POSSIBLE, jobs=1)
    request = driver.Request(config, frozenset(["TPU606"]), (str(tmp_path),))
    (finding,) = driver.check(driver.discover(request)).findings
    assert finding.span.filename.endswith("first.py")


@pytest.mark.parametrize(("default", "count"), [("True", 1), ("False", 0)])
def test_harmless_finding_a_flag_has_to_ask_for_the_tpu(
    default: str, count: int, tmp_path: Path
) -> None:
    """Who asks for the TPU on the command line sets the batch there, too."""
    text = SCRIPT.format(DEVICE.format(default) + SIZE.format(1), "FLAGS.use_tpu")
    assert len(reported(text, tmp_path, FAMILY)) == count


OPTIONS = {(33, 8): "possible", (33, 3): "", (64, 8): ""}


@pytest.mark.parametrize(("rows", "cores"), OPTIONS)
def test_the_defaults_of_options_are_a_batch_size_and_replicas(
    rows: int, cores: int, tmp_path: Path
) -> None:
    program = f"""
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("-b", "--batch-size", type=int, default={rows})
parser.add_argument("--cores", type=int, default={cores})
args = parser.parse_args()
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, train_batch_size=args.batch_size, config=config(num_shards=args.cores))
estimator.train(library.input_fn)
"""
    findings = reported(BEGIN + program, tmp_path, FAMILY)
    certainty = OPTIONS[rows, cores]
    assert [finding.certainty for finding in findings] == ([certainty] if certainty else [])


def test_false_alarm_what_is_not_seen_to_train_need_not_share_its_batch(tmp_path: Path) -> None:
    """TPUEstimator looks at the size when it trains; this one may only evaluate elsewhere."""
    creation = (
        "kept = tf.estimator.tpu.TPUEstimator("
        "model_fn, train_batch_size=1, config=config(num_shards=8))\n"
    )
    assert [finding.certainty for finding in reported(BEGIN + creation, tmp_path, FAMILY)] == [
        "possible"
    ]


PROGRAMS = {
    "another library's trainer": BEGIN
    + """
trainer = library.Trainer(config=None, train_batch_size=12)
tf.estimator.Estimator(model_fn, params={"batch_size": 8})
tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=64, use_tpu=True, config=None)
""",
    "a helper that asks which configuration it has": BEGIN
    + """
def either(given, config=None):
    config = config or tf.estimator.RunConfig()
    if isinstance(config, tf.contrib.tpu.RunConfig):
        return tf.estimator.tpu.TPUEstimator(
            model_fn,
            config=config,
            params=given,  # error: TPU606
        )
    assert isinstance(config, tf.estimator.RunConfig)
    return tf.estimator.Estimator(model_fn, config=config, params=given)

either({"rate": 0.1, "batch_size": 4})
either({"batch_size": 8}, config())
""",
    "options that are not seen": BEGIN
    + """
tf.estimator.tpu.TPUEstimator(model_fn, **library.options())
""",
    "a key that a loop may put in": BEGIN
    + """
params = {"rate": 0.1}
for name in library.names():
    params["batch_size"] = 8
tf.estimator.tpu.TPUEstimator(
    model_fn,
    params=params,  # possible: TPU606
    config=config(),
)
""",
    "one of two dicts, where a loop may put in the key": BEGIN
    + """
params, filled = {"batch_size": 8}, {"rate": 0.1}
for name in library.names():
    filled["batch_size"] = 8
tf.estimator.tpu.TPUEstimator(
    model_fn,
    params=params if more else filled,  # possible: TPU606
    config=config(),
)
""",
    "a function that may be called to make it": BEGIN
    + """
def make():
    tf.estimator.tpu.TPUEstimator(
        model_fn,
        train_batch_size=12,  # possible: TPU606
        config=config(num_shards=5),
    )

def plain():
    return None

{"make": make, "plain": plain}[sys.argv[1]]()
""",
    "a key that is put in for sure, and one after that": BEGIN
    + """
params = {"rate": 0.1}
params["batch_size"] = 8
tf.estimator.tpu.TPUEstimator(
    model_fn,
    params=params,  # error: TPU606
    config=config(),
)
params["context"] = 8
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


@pytest.mark.parametrize(("name", "count"), [("train.py", 1), ("train_test.py", 0)])
def test_false_alarm_a_test_may_run_on_fewer_cores(name: str, count: int, tmp_path: Path) -> None:
    creation = "estimator = tf.estimator.tpu.TPUEstimator(model_fn, {given})\n"
    trained = f"# file: {name}\n{BEGIN}{creation}estimator.train(library.input_fn)\n"
    arguments = "train_batch_size=2, config=config()"
    assert len(reported(trained.replace("{given}", arguments), tmp_path, FAMILY)) == count
    arguments = "train_batch_size=2, config=config(num_shards=8)"
    assert len(reported(trained.replace("{given}", arguments), tmp_path, FAMILY)) == 1
