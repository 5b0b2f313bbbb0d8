"""Names that the target lacks: what is said of each, how sure, and what the fix writes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.rules.analysis import findings, program
from tpulint.config import Config
from tpulint.diagnostics.fix import edited_text
from tpulint.finding import Applicability, Certainty
from tpulint.pipeline import driver

TF = "import tensorflow as tf\n"
EITHER = """\
try:
    import tensorflow.compat.v1 as tf
except ImportError:
    import tensorflow as tf
"""
LAYER = "tf.keras.layers.experimental.SyncBatchNormalization"
LAYER_IS_GONE = f"`{LAYER}` is gone by TensorFlow 2.16: it is `tf.keras.layers.BatchNormalization`"


class Case(NamedTuple):
    """`line` is the one at fault, `fixed` what the fix makes of it; "?" marks an unsafe fix."""

    release: str
    before: str
    line: str
    said: str
    certainty: str = "possible"
    fixed: str = ""
    after: str = ""


CASES = {
    "a name of TensorFlow 1": Case(
        "==2.12",
        TF,
        "tf.contrib.tpu.core(0)",
        "`tf.contrib.tpu.core` is gone by TensorFlow 2.0: it is `tf.compat.v1.tpu.core`",
        fixed="tf.compat.v1.tpu.core(0)",
    ),
    "a name that never was, of either of two modules": Case(
        "",
        EITHER + "import tensorflow.compat.v1 as v1\n",
        "tf.tpu.estimator.TPUEstimatorSpec(1)",
        "`tf.tpu.estimator.TPUEstimatorSpec` is in no release of TensorFlow:"
        " it is `v1.estimator.tpu.TPUEstimatorSpec` up to TensorFlow 2.15",
        "definite",
    ),
    "a name of an older TensorFlow 1": Case(
        "==1.15",
        TF,
        "tf.contrib.distribute.AllReduceCrossTowerOps()",
        "`tf.contrib.distribute.AllReduceCrossTowerOps` is gone by TensorFlow 1.14",
        "definite",
    ),
    "a module whose names moved together": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu",
        "`tensorflow.contrib.tpu` is gone by TensorFlow 2.0: it is `tensorflow.compat.v1.tpu`",
        fixed="from tensorflow.compat.v1 import tpu",
        after="tpu.core(0)\ntpu.cross_replica_sum(1)\n",
    ),
    "a module under another name, beside one that went elsewhere": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu as t",
        "`tensorflow.contrib.tpu` is gone by TensorFlow 2.0: it is `tensorflow.compat.v1.tpu`",
        fixed="from tensorflow.compat.v1 import tpu as t",
        after="from tensorflow.contrib import distribute as d\nt.core(0)\nd.TPUStrategy(1)\n"
        "# file: other.py\nfrom tensorflow.contrib import tpu as t\nt.TPUEstimator(1)\n",
    ),
    "a module whose names went to two places": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu",
        "`tensorflow.contrib.tpu` is gone by TensorFlow 2.0: it is `tensorflow.compat.v1.tpu`",
        after="tpu.core(0)\ntpu.TPUEstimator(1)\n",
    ),
    "a module of which one name is nowhere": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu",
        "`tensorflow.contrib.tpu` is gone by TensorFlow 2.0: it is `tensorflow.compat.v1.tpu`",
        after="tpu.core(0)\ntpu.no_such_name(1)\n",
    ),
    "a module that is imported whole": Case(
        "==2.12",
        "",
        "import tensorflow.contrib.tpu as tpu",
        "`tensorflow.contrib.tpu` is gone by TensorFlow 2.0: it is `tensorflow.compat.v1.tpu`",
    ),
    "a name that is imported under another": Case(
        "==2.12",
        "",
        "from tensorflow.contrib.tpu import core as at",
        "`tensorflow.contrib.tpu.core` is gone by TensorFlow 2.0:"
        " it is `tensorflow.compat.v1.tpu.core`",
        fixed="from tensorflow.compat.v1.tpu import core as at",
    ),
    "a name that nothing can be imported from": Case(
        "==2.12",
        "",
        "from tensorflow.contrib.tpu import TPUEstimator",
        "`tensorflow.contrib.tpu.TPUEstimator` is gone by TensorFlow 2.0:"
        " it is `tensorflow.compat.v1.estimator.tpu.TPUEstimator`",
    ),
    "a name that is imported beside another": Case(
        "==2.12",
        "",
        "from tensorflow.contrib.tpu import core, no_such_name",
        "`tensorflow.contrib.tpu.core` is gone by TensorFlow 2.0:"
        " it is `tensorflow.compat.v1.tpu.core`",
    ),
    "a method": Case(
        "==2.12",
        TF,
        "def train(strategy, step): strategy.experimental_run_v2(step)",
        "`experimental_run_v2` is gone by TensorFlow 2.4: it is `run` now",
        "definite",
        "def train(strategy, step): strategy.run(step)",
    ),
    "a method that nothing took the place of": Case(
        "==2.12",
        TF,
        "def make(strategy, rows): strategy.experimental_make_numpy_dataset(rows)",
        "`experimental_make_numpy_dataset` is gone by TensorFlow 2.4",
        "definite",
    ),
    "a method before its time": Case(
        "==1.12",
        TF,
        "def train(strategy, step): strategy.experimental_run_v2(step)",
        "`experimental_run_v2` is not yet in TensorFlow 1.12 (1.14 has it)",
    ),
    "a name before its time": Case(
        "==1.15",
        TF,
        "tf.distribute.TPUStrategy(1)",
        "`tf.distribute.TPUStrategy` is not yet in TensorFlow 1.15 (2.3 has it):"
        " it is `tf.distribute.experimental.TPUStrategy`",
        fixed="?tf.distribute.experimental.TPUStrategy(1)",
    ),
    "a name that never was": Case(
        "",
        TF,
        "tf.tpu.estimator.TPUEstimatorSpec(1)",
        "`tf.tpu.estimator.TPUEstimatorSpec` is in no release of TensorFlow:"
        " it is `tf.compat.v1.estimator.tpu.TPUEstimatorSpec` up to TensorFlow 2.15",
        "definite",
        "tf.compat.v1.estimator.tpu.TPUEstimatorSpec(1)",
    ),
    "a name that never was, where another alias is shorter": Case(
        "",
        TF + "import tensorflow.compat.v1 as v1\nfrom tensorflow import tpu\n",
        "tpu.estimator.TPUEstimatorSpec(1)",
        "`tpu.estimator.TPUEstimatorSpec` is in no release of TensorFlow:"
        " it is `v1.estimator.tpu.TPUEstimatorSpec` up to TensorFlow 2.15",
        "definite",
        "v1.estimator.tpu.TPUEstimatorSpec(1)",
    ),
    "a name that never was, where no alias surely leads to the other": Case(
        "",
        EITHER + "from tensorflow import tpu\n",
        "tpu.estimator.TPUEstimatorSpec(1)",
        "`tpu.estimator.TPUEstimatorSpec` is in no release of TensorFlow:"
        " it is `tensorflow.compat.v1.estimator.tpu.TPUEstimatorSpec` up to TensorFlow 2.15",
        "definite",
    ),
    "a name of what may be contrib": Case(
        "==2.12",
        EITHER.replace("compat.v1", "contrib"),
        "tf.tpu.no_such_name(0)",
        "`tf.tpu.no_such_name` is in no release of TensorFlow",
    ),
    "a name of a later release than this": Case(
        "==2.18",
        TF,
        f"{LAYER}()",
        LAYER_IS_GONE,
        "definite",
        "?tf.keras.layers.BatchNormalization()",
    ),
    "a name in a function, where somebody asks for the version": Case(
        "==2.18",
        TF,
        f"def make(): return {LAYER}()",
        LAYER_IS_GONE,
        fixed="?def make(): return tf.keras.layers.BatchNormalization()",
        after="def main():\n    if tf.__version__ < '2.16':\n        return make()\n",
    ),
    "a name in a function, where nobody asks for the version": Case(
        "==2.18",
        TF,
        f"def make(): return {LAYER}()",
        LAYER_IS_GONE,
        "definite",
        "?def make(): return tf.keras.layers.BatchNormalization()",
    ),
    "a name in no function, where somebody asks for the version": Case(
        "==2.18",
        TF,
        f"{LAYER}()",
        LAYER_IS_GONE,
        "definite",
        "?tf.keras.layers.BatchNormalization()",
        "def main():\n    if tf.__version__ < '2.16':\n        return make()\n",
    ),
    "a name that never was, where somebody asks for the version": Case(
        "==2.18",
        TF,
        "def make(): return tf.tpu.no_such_name(0)",
        "`tf.tpu.no_such_name` is in no release of TensorFlow",
        "definite",
        after="def main():\n    if tf.__version__ < '2.16':\n        return make()\n",
    ),
    "contrib by the other name of TensorFlow 1": Case(
        "",
        "import tensorflow.compat.v1 as tf\n",
        "tf.contrib.tpu.core(0)",
        "`tf.contrib.tpu.core` is in no release of TensorFlow: it is `tf.tpu.core`",
        "definite",
        fixed="tf.tpu.core(0)",
    ),
    "a name of TensorFlow 1 in TensorFlow 2 by its other name": Case(
        "",
        "import tensorflow.compat.v2 as tf\n",
        "tf.estimator.tpu.CrossShardOptimizer(0)",
        "`tf.estimator.tpu.CrossShardOptimizer` is in no release of TensorFlow",
        "definite",
    ),
    "a keyword that never was": Case(
        "",
        TF,
        "tf.tpu.rewrite(compute=1)",
        "`rewrite` takes no `compute` in any release of TensorFlow",
        "definite",
    ),
    "a keyword that is nearly one": Case(
        "==2.13",
        TF,
        "tf.compat.v1.tpu.rewrite(1, xla_option=1)",
        "`rewrite` takes no `xla_option` in TensorFlow 2.13; did you mean `xla_options`?",
        "definite",
        "?tf.compat.v1.tpu.rewrite(1, xla_options=1)",
    ),
    "a keyword before its time": Case(
        "==1.15",
        TF,
        "tf.compat.v1.tpu.rewrite(1, xla_options=1)",
        "`rewrite` takes no `xla_options` in TensorFlow 1.15",
        "definite",
    ),
    "keywords of what is gone": Case(
        "==2.13",
        TF,
        "tf.tpu.rewrite(1, inputs=[], compute=1, **{})",
        "`tf.tpu.rewrite` is gone by TensorFlow 2.0: it is `tf.compat.v1.tpu.rewrite`",
        fixed="tf.compat.v1.tpu.rewrite(1, inputs=[], compute=1, **{})",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_said_and_written(case: Case, tmp_path: Path) -> None:
    text = f"{case.before}{case.line}\n{case.after}"
    required = f"# file: requirements.txt\ntensorflow{case.release}\n" if case.release else ""
    every = findings(program(f"{required}# file: train.py\n{text}"), tmp_path)
    row = case.before.count("\n") + 1
    here = [each for each in every if each.span.filename.endswith("train.py")]
    found = next(each for each in here if each.span.start.row == row)
    assert (found.message, found.certainty.value) == (case.said, case.certainty)
    if found.fix is None:
        assert not case.fixed
        return
    fixed = edited_text(text, found.fix.edits).split("\n")[row - 1]
    unsafe = "?" if found.fix.applicability is Applicability.UNSAFE else ""
    assert unsafe + fixed == case.fixed


def test_a_name_of_the_other_generation_is_sure_where_the_target_is_configured(
    tmp_path: Path,
) -> None:
    (tmp_path / "train.py").write_text(f"{TF}tf.contrib.tpu.core(0)\n", encoding="utf-8")
    config = Config(root=str(tmp_path), jobs=1, target_tensorflow="2.13")
    request = driver.Request(config, frozenset(["TPU802"]), (str(tmp_path),))
    (found,) = driver.check(*driver.prepare(request), {}).findings
    assert found.certainty is Certainty.DEFINITE
