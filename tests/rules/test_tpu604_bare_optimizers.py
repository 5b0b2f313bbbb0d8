"""Optimizers of a model_fn that certainly or possibly sum over no replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties, expected, reported
from tests.rules.openings import ESTIMATOR, V1

FAMILY = ["TPU604"]
BEGIN = (
    V1
    + """
import horovod.tensorflow as hvd
import library
import sys
from tensor2tensor.utils import adafactor

rewritten = tf.train.experimental.enable_mixed_precision_graph_rewrite

class Decay(tf.train.Optimizer):
    kind = "decay"

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return tf.group(*[v.assign_sub(g) for g, v in grads_and_vars])

class Scaled(tf.train.AdamOptimizer):
    pass

class Accumulated(tf.train.Optimizer):
    def __init__(self, opt, steps=1):
        super().__init__(False, "Accumulated")
        self._opt = opt
        self._steps = steps
        self._schedule = library.schedule()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self._opt.apply_gradients(grads_and_vars, global_step)

class Around(Accumulated):
    def __init__(self, opt):
        super().__init__(opt)
        self._mean = tf.contrib.opt.MovingAverageOptimizer(self)

class Shared(tf.tpu.CrossShardOptimizer):
    pass

class Foreign(library.AdamOptimizer):
    pass

class Mixed(library.Summing, tf.train.AdamOptimizer):
    pass

class Plain(object):
    pass

class Derived(Plain, tf.train.AdamOptimizer):
    pass

class Saving(tf.train.Saver):
    pass

class Solver:
    def minimize(self, loss):
        return tf.no_op()

class Holding(tf.train.Optimizer):
    def __init__(self, inner):
        self.inner = inner

class Totals(tf.train.Optimizer):
    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        total = tf.tpu.cross_replica_sum
        return tf.group(*[v.assign_sub(total(g)) for g, v in grads_and_vars])

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
"""
)
END = (
    """
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR
)
# The optimizer, and the certainty that it sums nothing; "" for silence.
OPTIMIZERS = {
    "tf.train.AdamOptimizer()": "definite",
    "tf.keras.optimizers.Adam()": "definite",
    "Decay(False, 'Decay')": "definite",
    "Scaled()": "definite",
    "Shared(tf.train.AdamOptimizer())": "",
    "Foreign()": "",
    "Mixed()": "",
    "Saving()": "",
    "Derived()": "definite",
    "Solver()": "",
    "Totals(False, 'Totals')": "",
    "Holding(tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()))": "",
    "Holding(Shared(tf.train.AdamOptimizer()))": "",
    "library.AdamOptimizer()": "possible",
    # The sums of a known package's optimizer are known, too.
    "adafactor.AdafactorOptimizer(learning_rate=0.1)": "definite",
    "adafactor.OtherOptimizer()": "possible",
    "tf.tpu.CrossShardOptimizer(adafactor.AdafactorOptimizer())": "",
    "library.AdafactorOptimizer()": "possible",
    "library.DistributedOptimizer(tf.train.AdamOptimizer())": "",
    "library.make()": "",
    "tf.contrib.opt.ScipyOptimizerInterface(loss)": "",
    "tf.contrib.opt.MovingAverageOptimizer(tf.train.AdamOptimizer())": "definite",
    "tf.contrib.opt.MovingAverageOptimizer(tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()))": (
        ""
    ),
    "tf.contrib.opt.MovingAverageOptimizer(opt=library.make())": "",
    "tf.contrib.opt.MovingAverageOptimizer(opt=tf.train.AdamOptimizer())": "definite",
    "tf.contrib.opt.MovingAverageOptimizer(opt=tf.tpu.CrossShardOptimizer(Scaled()))": "",
    "tf.train.AdamOptimizer() if len(sys.argv) > 1 else Shared(Scaled())": "",
    "tf.train.AdamOptimizer() if len(sys.argv) > 1 else Scaled()": "definite",
    "hvd.DistributedOptimizer(tf.train.AdamOptimizer())": "possible",
    "hvd.DistributedOptimizer(library.make())": "",
    "hvd.DistributedOptimizer(Shared(tf.train.AdamOptimizer()))": "",
    "hvd.DistributedOptimizer(tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()))": "",
    "tf.tpu.CrossShardOptimizer(hvd.DistributedOptimizer(tf.train.AdamOptimizer()))": "",
    "hvd.DistributedOptimizer(Scaled()) if len(sys.argv) > 1 else Scaled()": "possible",
    "hvd.DistributedOptimizer(Scaled()) if len(sys.argv) > 1 else Shared(Scaled())": "",
    # A false alarm: an optimizer of the project in a wrapper may be the one that sums.
    "tf.contrib.opt.MovingAverageOptimizer(Shared(tf.train.AdamOptimizer()))": "",
    # Missed: a wrapper of the project was taken for a sum.
    "Accumulated(tf.train.AdamOptimizer())": "definite",
    "Accumulated(Accumulated(Scaled()), 2) if len(sys.argv) > 1 else Scaled()": "definite",
    "Accumulated(tf.train.AdamOptimizer() if len(sys.argv) > 1 else Scaled())": "definite",
    "Accumulated(tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()))": "",
    "Accumulated(Accumulated(Shared(Scaled())))": "",
    "Accumulated(Scaled() if len(sys.argv) > 1 else Shared(Scaled()))": "",
    "Accumulated(library.make())": "",
    "Around(Scaled())": "",
    "rewritten(tf.train.AdamOptimizer())": "definite",
    "rewritten(opt=Scaled(), loss_scale=128)": "definite",
    "rewritten(library.make())": "",
    "rewritten(tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer()))": "",
    "rewritten(Shared(tf.train.AdamOptimizer()))": "",
    "tf.tpu.CrossShardOptimizer(rewritten(tf.train.AdamOptimizer()))": "",
    # A false alarm: a value that is not seen was taken for TensorFlow's, for a flag gives it.
    "tf.flags.FLAGS.horovod.DistributedOptimizer(tf.train.AdamOptimizer())": "",
}


@pytest.mark.parametrize("creation", OPTIMIZERS)
def test_an_optimizer_is_as_certainly_bare_as_it_looks(creation: str, tmp_path: Path) -> None:
    update = f"\n    optimizer = {creation}\n    train_op = optimizer.minimize(loss)"
    findings = reported(BEGIN + update + END, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == (
        [OPTIMIZERS[creation]] if OPTIMIZERS[creation] else []
    )


# The optimizer that `optimize_loss` is given, and the certainty that it sums nothing.
OPTIMIZES = {
    "tf.train.AdamOptimizer()": "definite",
    "tf.train.AdamOptimizer": "definite",
    "'Adam'": "definite",
    "lambda rate: tf.train.AdamOptimizer(rate)": "definite",
    "Scaled": "definite",
    "lambda rate: Scaled(rate)": "definite",
    "library.AdamOptimizer": "possible",
    "lambda rate: tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate))": "",
    "tf.tpu.CrossShardOptimizer(Scaled())": "",
    "library.optimizer": "",
    "lambda rate: library.made(rate)": "",
    "tf.train.AdamOptimizer() if params else None": "definite",
    "None": "",
}


@pytest.mark.parametrize("library", ["tf_slim", "tf_slim.training", "tf.contrib.layers"])
@pytest.mark.parametrize("chosen", OPTIMIZES)
def test_optimize_loss_applies_gradients_by_what_it_is_given(
    chosen: str, library: str, tmp_path: Path
) -> None:
    update = f"""
    step = tf.train.get_global_step()
    train_op = {library}.optimize_loss(loss, step, 0.1, optimizer={chosen}, clip_gradients=1.0)"""
    findings = reported("import tf_slim\n" + BEGIN + update + END, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == (
        [OPTIMIZES[chosen]] if OPTIMIZES[chosen] else []
    )


# The gradients that the optimizer gets, and the certainty that nobody summed them.
GRADIENTS = {
    "optimizer.compute_gradients(loss)": "definite",
    "[(tf.clip_by_norm(g, 1.0), v) for g, v in optimizer.compute_gradients(loss)]": "definite",
    "zip(tf.gradients(loss, variables), variables)": "definite",
    "library.gradients(loss)": "possible",
    "library.pairs()": "possible",
    "**library.options()": "possible",
    "[(library.reduced(g), v) for g, v in optimizer.compute_gradients(loss)]": "possible",
    "[(g, v) for g, v in zip(library.gradients(loss), variables)]": "possible",
    "*library.gradients(loss)": "possible",
    "[*library.gradients(loss)]": "possible",
    "optimizer.compute_gradients(loss) if len(sys.argv) > 1 else library.pairs()": "possible",
}

# The optimizers of which a flag chooses one, and the certainty that it sums nothing.
CHOSEN = {
    "Scaled() if flag else tf.train.AdamOptimizer()": "definite",
    # Missed: another package's optimizer beside it computed the gradients, too.
    "Scaled() if flag else library.AdamOptimizer()": "definite",
    "library.AdamOptimizer()": "possible",
    "Scaled() if flag else library.DistributedOptimizer()": "",
    "Scaled() if flag else library.make()": "",
    "Scaled() if flag else Shared(Scaled())": "",
}


@pytest.mark.parametrize("creation", CHOSEN)
def test_optimizers_compute_the_gradients_that_they_apply(creation: str, tmp_path: Path) -> None:
    update = f"""
    flag = len(sys.argv) > 1
    optimizer = {creation}
    pairs = optimizer.compute_gradients(loss)
    train_op = optimizer.apply_gradients(pairs)"""
    findings = reported(BEGIN + update + END, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == (
        [CHOSEN[creation]] if CHOSEN[creation] else []
    )


# An optimizer or what makes one: libraries take both.
MAKERS = {
    "tf.train.AdamOptimizer()": "definite",
    "lambda: tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())": "",
    "tf.tpu.CrossShardOptimizer(Scaled())": "",
    "library.optimizer": "",
}


@pytest.mark.parametrize("maker", MAKERS)
def test_an_optimizer_cannot_be_called(maker: str, tmp_path: Path) -> None:
    """Missed: what a call of the optimizer gives was taken for another one."""
    update = f"""
    maker = {maker}
    optimizer = maker() if callable(maker) else maker
    train_op = optimizer.minimize(loss)"""
    findings = reported(BEGIN + update + END, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == ([MAKERS[maker]] if MAKERS[maker] else [])


@pytest.mark.parametrize("gradients", GRADIENTS)
def test_unseen_gradients_may_be_summed(gradients: str, tmp_path: Path) -> None:
    update = f"""
    optimizer = tf.train.AdamOptimizer()
    variables = tf.trainable_variables()
    train_op = optimizer.apply_gradients({gradients})"""
    findings = reported(BEGIN + update + END, tmp_path, FAMILY)
    assert [finding.certainty for finding in findings] == [GRADIENTS[gradients]]


PROGRAMS = {
    "the loss of another library": BEGIN
    + """
    train_op = tf.train.AdamOptimizer().minimize(library.loss(features))  # error: TPU604
"""
    + END,
    "one replica needs no sum": BEGIN
    + """
    train_op = tf.train.AdamOptimizer().minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)

config = tf.estimator.tpu.RunConfig(tpu_config=tf.estimator.tpu.TPUConfig(num_shards=1))
tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=config)
""",
    "minimize of nobody": BEGIN
    + """
    train_op = library.minimize(loss)
"""
    + END,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


ACCUMULATING = (
    V1
    + """
def create_train_op(loss, steps=1, use_tpu=False):
    optimizer = tf.train.AdamOptimizer()
    if use_tpu:
        optimizer = tf.tpu.CrossShardOptimizer(optimizer)
    if steps > 1:
        return optimizer.minimize(loss / steps)
    return optimizer.minimize(loss)

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    train_op = create_train_op(loss, True)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
"""
    + ESTIMATOR
)


def test_a_false_alarm_where_a_flag_is_given_as_a_number(tmp_path: Path) -> None:
    """True is not greater than 1: only the second update is made."""
    second = ACCUMULATING[: ACCUMULATING.index("minimize(loss)")].count("\n") + 1
    found = reported(ACCUMULATING, tmp_path, FAMILY)
    assert [(item.row, item.certainty) for item in found] == [(second, "definite")]


BY_TABLE = f"""{V1}
import json
import sys

def create(loss, rate, **settings):
    return tf.train.AdamOptimizer(rate).minimize(loss)

def create_summed(loss, rate):
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate))
    return optimizer.minimize(loss)

def train_op_of(loss, settings):
    kinds = {{table}}
    if settings["kind"] not in kinds:
        raise ValueError(settings["kind"])
    return kinds[settings["kind"]](loss, 0.1)

def settings_of(path):
    with open(path) as file:
        known = json.load(file)
    for part in ("model", "input"):
        known = dict(known) if part in known else [known][0]
    return known

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    train_op = train_op_of(loss, settings_of(sys.argv[1]))
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
{ESTIMATOR}"""
TABLES = {
    "one function": ('{"adam": create}', ["definite"]),
    "one that sums": ('{"adam": create_summed}', []),
    "two of which one sums": ('{"adam": create, "summed": create_summed}', ["possible"]),
}


@pytest.mark.parametrize(("table", "found"), TABLES.values(), ids=TABLES)
def test_a_table_with_one_entry_gives_it(table: str, found: list[str], tmp_path: Path) -> None:
    """A missed certainty: the key is not known, but there is no other value."""
    assert certainties(BY_TABLE.replace("{table}", table), tmp_path, "TPU604") == found


EITHER_PACKAGES = f"""{V1}
import rates

def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 10))
    if params["kind"] == "rates":
        optimizer = rates.RatedOptimizer(0.1)
    else:
        optimizer = tf.train.AdamOptimizer(0.1)
    train_op = optimizer.minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
{ESTIMATOR}"""


def test_one_of_several_optimizers_is_known(tmp_path: Path) -> None:
    """A missed certainty: another option, of a package that is not read, came first."""
    assert certainties(EITHER_PACKAGES, tmp_path, "TPU604") == ["definite"]
