"""Names that the target lacks: the message of each, its certainty, and what the fix writes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.rules.analysis import findings, program
from tpulint.check import driver
from tpulint.config import Config
from tpulint.diagnostics.fix import edited_text
from tpulint.finding import Applicability, Certainty

TF = "import tensorflow as tf\n"
EITHER = """\
try:
    import tensorflow.compat.v1 as tf
except ImportError:
    import tensorflow as tf
"""
LAYER = "tf.keras.layers.experimental.SyncBatchNormalization"
LAYER_IS_GONE = (
    f"`{LAYER}` no longer exists in TensorFlow 2.16: use `tf.keras.layers.BatchNormalization`"
)
CONTRIB_IS_GONE = (
    "`tensorflow.contrib.tpu` no longer exists in TensorFlow 2.0: use `tensorflow.compat.v1.tpu`"
)


class Case(NamedTuple):
    """`line` is the one at fault, `fixed` what the fix makes of it; "?" marks an unsafe fix."""

    release: str
    before: str
    line: str
    message: str
    certainty: str = "possible"
    fixed: str = ""
    after: str = ""


CASES = {
    "a name of TensorFlow 1": Case(
        "==2.12",
        TF,
        "tf.contrib.tpu.core(0)",
        "`tf.contrib.tpu.core` no longer exists in TensorFlow 2.0: use `tf.compat.v1.tpu.core`",
        fixed="tf.compat.v1.tpu.core(0)",
    ),
    "a name that never was, of either of two modules": Case(
        "",
        EITHER + "import tensorflow.compat.v1 as v1\n",
        "tf.tpu.estimator.TPUEstimatorSpec(1)",
        "`tf.tpu.estimator.TPUEstimatorSpec` does not exist in any release of TensorFlow:"
        " use `v1.estimator.tpu.TPUEstimatorSpec`, which exists up to TensorFlow 2.15",
        "definite",
    ),
    "a name of an older TensorFlow 1": Case(
        "==1.15",
        TF,
        "tf.contrib.distribute.AllReduceCrossTowerOps()",
        "`tf.contrib.distribute.AllReduceCrossTowerOps` no longer exists in TensorFlow 1.14;"
        " 1.12 still has it",
        "definite",
    ),
    "a module whose names moved together": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu",
        CONTRIB_IS_GONE,
        fixed="from tensorflow.compat.v1 import tpu",
        after="tpu.core(0)\ntpu.cross_replica_sum(1)\n",
    ),
    "a module under another name, beside one that went elsewhere": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu as t",
        CONTRIB_IS_GONE,
        fixed="from tensorflow.compat.v1 import tpu as t",
        after="from tensorflow.contrib import distribute as d\nt.core(0)\nd.TPUStrategy(1)\n"
        "# file: other.py\nfrom tensorflow.contrib import tpu as t\nt.TPUEstimator(1)\n",
    ),
    "a module whose names went to two places": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu",
        CONTRIB_IS_GONE,
        after="tpu.core(0)\ntpu.TPUEstimator(1)\n",
    ),
    "a module of which one name is nowhere": Case(
        "==2.12",
        "",
        "from tensorflow.contrib import tpu",
        CONTRIB_IS_GONE,
        after="tpu.core(0)\ntpu.no_such_name(1)\n",
    ),
    "a module that is imported whole": Case(
        "==2.12",
        "",
        "import tensorflow.contrib.tpu as tpu",
        CONTRIB_IS_GONE,
    ),
    "a name that is imported under another": Case(
        "==2.12",
        "",
        "from tensorflow.contrib.tpu import core as at",
        "`tensorflow.contrib.tpu.core` no longer exists in TensorFlow 2.0:"
        " use `tensorflow.compat.v1.tpu.core`",
        fixed="from tensorflow.compat.v1.tpu import core as at",
    ),
    "a name that nothing can be imported from": Case(
        "==2.12",
        "",
        "from tensorflow.contrib.tpu import TPUEstimator",
        "`tensorflow.contrib.tpu.TPUEstimator` no longer exists in TensorFlow 2.0:"
        " use `tensorflow.compat.v1.estimator.tpu.TPUEstimator`",
    ),
    "a name that is imported beside another": Case(
        "==2.12",
        "",
        "from tensorflow.contrib.tpu import core, no_such_name",
        "`tensorflow.contrib.tpu.core` no longer exists in TensorFlow 2.0:"
        " use `tensorflow.compat.v1.tpu.core`",
    ),
    "a method": Case(
        "==2.12",
        TF,
        "def train(strategy, step): strategy.experimental_run_v2(step)",
        "`experimental_run_v2` no longer exists in TensorFlow 2.4: use `run`",
        "definite",
        "def train(strategy, step): strategy.run(step)",
    ),
    "a method that nothing took the place of": Case(
        "==2.12",
        TF,
        "def make(strategy, rows): strategy.experimental_make_numpy_dataset(rows)",
        "`experimental_make_numpy_dataset` no longer exists in TensorFlow 2.4; 2.3 still has it",
        "definite",
    ),
    "a method before its time": Case(
        "==1.12",
        TF,
        "def train(strategy, step): strategy.experimental_run_v2(step)",
        "`experimental_run_v2` does not exist yet in TensorFlow 1.12 (1.14 has it)",
    ),
    "a name before its time": Case(
        "==1.15",
        TF,
        "tf.distribute.TPUStrategy(1)",
        "`tf.distribute.TPUStrategy` does not exist yet in TensorFlow 1.15 (2.3 has it):"
        " use `tf.distribute.experimental.TPUStrategy`",
        fixed="?tf.distribute.experimental.TPUStrategy(1)",
    ),
    "a name that never was": Case(
        "",
        TF,
        "tf.tpu.estimator.TPUEstimatorSpec(1)",
        "`tf.tpu.estimator.TPUEstimatorSpec` does not exist in any release of TensorFlow:"
        " use `tf.compat.v1.estimator.tpu.TPUEstimatorSpec`, which exists up to TensorFlow 2.15",
        "definite",
        "tf.compat.v1.estimator.tpu.TPUEstimatorSpec(1)",
    ),
    "a name that never was, where another alias is shorter": Case(
        "",
        TF + "import tensorflow.compat.v1 as v1\nfrom tensorflow import tpu\n",
        "tpu.estimator.TPUEstimatorSpec(1)",
        "`tpu.estimator.TPUEstimatorSpec` does not exist in any release of TensorFlow:"
        " use `v1.estimator.tpu.TPUEstimatorSpec`, which exists up to TensorFlow 2.15",
        "definite",
        "v1.estimator.tpu.TPUEstimatorSpec(1)",
    ),
    "a name that never was, where no alias certainly leads to the other": Case(
        "",
        EITHER + "from tensorflow import tpu\n",
        "tpu.estimator.TPUEstimatorSpec(1)",
        "`tpu.estimator.TPUEstimatorSpec` does not exist in any release of TensorFlow:"
        " use `tensorflow.compat.v1.estimator.tpu.TPUEstimatorSpec`,"
        " which exists up to TensorFlow 2.15",
        "definite",
    ),
    "a name of what may be contrib": Case(
        "==2.12",
        EITHER.replace("compat.v1", "contrib"),
        "tf.tpu.no_such_name(0)",
        "`tf.tpu.no_such_name` does not exist in any release of TensorFlow; check its spelling",
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
        "`tf.tpu.no_such_name` does not exist in any release of TensorFlow; check its spelling",
        "definite",
        after="def main():\n    if tf.__version__ < '2.16':\n        return make()\n",
    ),
    "contrib by the other name of TensorFlow 1": Case(
        "",
        "import tensorflow.compat.v1 as tf\n",
        "tf.contrib.tpu.core(0)",
        "`tf.contrib.tpu.core` does not exist in any release of TensorFlow: use `tf.tpu.core`",
        "definite",
        fixed="tf.tpu.core(0)",
    ),
    "a name of TensorFlow 1 in TensorFlow 2 by its other name": Case(
        "",
        "import tensorflow.compat.v2 as tf\n",
        "tf.estimator.tpu.CrossShardOptimizer(0)",
        "`tf.estimator.tpu.CrossShardOptimizer` does not exist in any release of TensorFlow;"
        " check its spelling: `tf` is `tensorflow.compat.v2`,"
        " and `tensorflow.compat.v2.estimator` has no `tpu`",
        "definite",
    ),
    "a keyword that never was": Case(
        "",
        TF,
        "tf.tpu.rewrite(compute=1)",
        "`rewrite` takes no `compute` in any release of TensorFlow; remove it",
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
        "`rewrite` takes no `xla_options` in TensorFlow 1.15; remove it",
        "definite",
    ),
    "keywords of what is gone": Case(
        "==2.13",
        TF,
        "tf.tpu.rewrite(1, inputs=[], compute=1, **{})",
        "`tf.tpu.rewrite` no longer exists in TensorFlow 2.0: use `tf.compat.v1.tpu.rewrite`",
        fixed="tf.compat.v1.tpu.rewrite(1, inputs=[], compute=1, **{})",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_finding_and_its_fix(case: Case, tmp_path: Path) -> None:
    text = f"{case.before}{case.line}\n{case.after}"
    required = f"# file: requirements.txt\ntensorflow{case.release}\n" if case.release else ""
    every = findings(program(f"{required}# file: train.py\n{text}"), tmp_path)
    row = case.before.count("\n") + 1
    here = [finding for finding in every if finding.span.filename.endswith("train.py")]
    actual = next(finding for finding in here if finding.span.start.row == row)
    assert (actual.message, actual.certainty.value) == (case.message, case.certainty)
    if actual.fix is None:
        assert not case.fixed
        return
    fixed = edited_text(text, actual.fix.edits).split("\n")[row - 1]
    unsafe = "?" if actual.fix.applicability is Applicability.UNSAFE else ""
    assert unsafe + fixed == case.fixed


def test_a_name_of_the_other_generation_is_definite_with_a_configured_target(
    tmp_path: Path,
) -> None:
    (tmp_path / "train.py").write_text(f"{TF}tf.contrib.tpu.core(0)\n", encoding="utf-8")
    config = Config(root=str(tmp_path), jobs=1, target_tensorflow="2.13")
    request = driver.Request(config, frozenset(["TPU802"]), (str(tmp_path),))
    (finding,) = driver.check(driver.discover(request)).findings
    assert finding.certainty is Certainty.DEFINITE
