"""`tpulint explain` on small whole programs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tpulint.cli.main import main

STRATEGY = """\
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
with strategy.scope():
    total = tf.Variable(0.0)


def scaled(x, by=2.0):
    if tf.reduce_sum(x) > 0.0:
        return x * by
    return x


def step(x):
    total.assign_add(scaled(x))


strategy.run(step, args=(1.0,))


def unused():
    return scaled(1)
"""
ESTIMATOR = """\
import tensorflow.compat.v1 as tf

from helpers import loss_of, unheard


def metric_fn(loss):
    return {"mean": tf.metrics.mean(loss)}


def model_fn(features, labels, mode, params):
    loss = loss_of(features)
    loss = tf.Print(loss, [loss])  # tpulint: ignore[TPU501]
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train, eval_metrics=(metric_fn, [loss])
    )


unheard()
tf.estimator.tpu.TPUEstimator(model_fn=model_fn, config=None, use_tpu=True, train_batch_size=8)
"""
HELPERS = """\
import tensorflow as tf


def loss_of(features):
    return tf.reduce_mean(features)


def unheard():
    return 1
"""
REPLICATE = """\
import tensorflow.compat.v1 as tf

v = tf.get_variable("v", [])


def show():
    return tf.identity(v)


def computation(x):
    if tf.flags.FLAGS.reset: v.assign(x)
    seen = tf.tpu.outside_compilation(show)
    with tf.control_dependencies([seen]):
        return v.assign_add(x + seen)


result = tf.tpu.replicate(computation, [[1.0], [2.0]])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three programs."""
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    files = {
        "loop.py": STRATEGY,
        "estimator.py": ESTIMATOR,
        "helpers.py": HELPERS,
        "replicate.py": REPLICATE,
        "alone.py": "import math\nprint(math.pi)\n",
        "broken.py": "print 1\n",
        ".gitignore": "generated.py\n",
        "generated.py": STRATEGY,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(capsys: pytest.CaptureFixture[str], place: str, *options: str) -> dict[str, Any]:
    status = main(["explain", "--no-cache", "--output-format", "json", *options, place])
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    data: dict[str, Any] = json.loads(out)
    return data


def lanes(explanation: dict[str, Any]) -> dict[str, list[str]]:
    return {function["name"]: function["lanes"] for function in explanation["file"]["functions"]}


def rule(explanation: dict[str, Any], code: str) -> str:
    (state,) = {rule["state"] for rule in explanation["line"]["rules"] if rule["code"] == code}
    return str(state)


@pytest.mark.usefixtures("folder")
class TestFile:
    def test_functions_are_listed_by_where_they_are_called(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, "loop.py")
        assert explanation["read"]
        assert lanes(explanation) == {"scaled": ["device"], "step": ["device"], "unused": []}
        (computation,) = explanation["file"]["computations"]
        assert (computation["lane"], computation["place"]["row"]) == ("host", 18)

    def test_clusters_of_an_estimator_are_listed(self, capsys: pytest.CaptureFixture[str]) -> None:
        explanation = explained(capsys, "estimator.py")
        assert lanes(explanation) == {"metric_fn": ["host cluster"], "model_fn": ["device"]}
        (cluster,) = explanation["file"]["clusters"]
        assert cluster["text"].startswith("eval_metrics opens a host cluster of function metric_fn")
        assert {finding["code"]: finding["state"] for finding in explanation["file"]["findings"]}[
            "TPU501"
        ] == ("suppressed by a comment")

    def test_a_module_that_a_program_calls_is_read(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, "helpers.py")
        assert lanes(explanation) == {"loss_of": ["device"], "unheard": []}
        assert "it names nothing of the TPU API" in explanation["reasons"][0]
        assert "read in the program of estimator.py (2 modules read)" in explanation["reasons"]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            (
                "alone.py",
                "not reached: no file of its project, ., names the TPU API and imports it",
            ),
            ("broken.py", "it cannot be parsed: Missing parentheses"),
        ],
    )
    def test_a_file_that_is_not_read_says_why(
        self, name: str, reason: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, name)
        assert not explanation["read"]
        assert any(line.startswith(reason) for line in explanation["reasons"])

    def test_an_ignored_file_is_read_when_it_is_named(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, "generated.py")
        assert explanation["read"]
        assert explanation["reasons"][0] == "ignored by git, so left out unless it is named"

    def test_an_excluded_file_is_read_when_it_is_named(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "tpulint.toml").write_text('exclude = ["loop.py"]\n', encoding="utf-8")
        explanation = explained(capsys, "loop.py")
        assert "excluded by the tpulint.toml configuration" in explanation["reasons"][0]

    def test_a_module_that_only_the_host_calls_is_passed_by(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = ESTIMATOR.replace("loss_of(features)", "tf.reduce_mean(features)")
        (folder / "estimator.py").write_text(text, encoding="utf-8")
        explanation = explained(capsys, "helpers.py")
        assert not explanation["read"]
        assert "helpers.unheard of it is called on the host only" in explanation["reasons"][1]


@pytest.mark.usefixtures("folder")
class TestLine:
    def test_contexts_have_their_calls_scopes_and_values(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, "loop.py:10")
        (context,) = explanation["line"]["contexts"]
        assert context["lane"] == "device"
        assert [call["name"] for call in context["calls"]] == ["step", "scaled"]
        assert context["calls"][1]["place"] == {"filename": "loop.py", "row": 15, "column": 22}
        values = {value["name"]: value["value"] for value in context["values"]}
        assert values["by"] == "2.0"

    def test_a_def_has_the_contexts_of_its_calls(self, capsys: pytest.CaptureFixture[str]) -> None:
        explanation = explained(capsys, "loop.py:8")
        (context,) = explanation["line"]["contexts"]
        assert {"name": "by", "value": "2.0", "lost": ""} in context["values"]

    def test_events_have_their_lane(self, capsys: pytest.CaptureFixture[str]) -> None:
        explanation = explained(capsys, "loop.py:15")
        texts = {(event["lane"], event["text"]) for event in explanation["line"]["events"]}
        assert ("device", "write of variable total by assign_add") in texts

    def test_a_call_into_the_project_is_an_event(self, capsys: pytest.CaptureFixture[str]) -> None:
        explanation = explained(capsys, "estimator.py:11")
        texts = [(event["lane"], event["text"]) for event in explanation["line"]["events"]]
        assert texts == [("device", "call of loss_of (helpers.py:4): followed")]

    def test_a_line_that_nothing_calls_has_no_context(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, "loop.py:22")
        assert (explanation["line"]["contexts"], explanation["line"]["events"]) == ([], [])

    def test_a_rule_that_reports_and_one_that_is_silent_differ(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        explanation = explained(capsys, "replicate.py:7:5", "--certainty", "possible")
        assert rule(explanation, "TPU103").startswith("reported")
        assert rule(explanation, "TPU102") == "silent"
        assert rule(explanation, "TPU404") == "nothing here"

    def test_a_possible_finding_is_hidden(self, capsys: pytest.CaptureFixture[str]) -> None:
        explanation = explained(capsys, "replicate.py:7")
        assert rule(explanation, "TPU103").startswith("possible and hidden")

    def test_a_suppressed_finding_says_so(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert rule(explained(capsys, "estimator.py:12"), "TPU501") == "suppressed by a comment"

    def test_a_baseline_keeps_its_findings(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bare = ESTIMATOR.replace("  # tpulint: ignore[TPU501]", "")
        (folder / "estimator.py").write_text(bare, encoding="utf-8")
        assert rule(explained(capsys, "estimator.py:12"), "TPU501").startswith("reported")
        main(["check", "--no-cache", "--write-baseline", "known.json", "."])
        (folder / "tpulint.toml").write_text('baseline = "known.json"\n', encoding="utf-8")
        capsys.readouterr()
        assert rule(explained(capsys, "estimator.py:12"), "TPU501") == "in the baseline"

    def test_codes_that_are_not_asked_for_say_so(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "tpulint.toml").write_text('ignore = ["TPU501"]\n', encoding="utf-8")
        assert rule(explained(capsys, "estimator.py:12"), "TPU501") == "not selected"

    def test_an_import_is_not_recorded(self, capsys: pytest.CaptureFixture[str]) -> None:
        explanation = explained(capsys, "loop.py:1")
        assert not explanation["line"]["placed"]


def test_a_line_of_an_exported_notebook_is_as_it_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STRATEGY.replace("strategy.run", "%time strategy.run")
    (folder / "exported.py").write_text(f"# In[1]:\n{text}", encoding="utf-8")
    row = text.split("\n").index("%time strategy.run(step, args=(1.0,))") + 2
    line = explained(capsys, f"exported.py:{row}")["line"]
    assert line["source"] == "%time strategy.run(step, args=(1.0,))"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".:1", "explain: . is a directory: give one file"),
        ("none.py:1", "none.py: no such file or directory"),
        ("alone.py:9", "alone.py: no line 9: it has 2"),
        ("loop.py:6", "loop.py: line 6 is not part of a statement"),
    ],
)
def test_a_place_that_is_none_is_wrong_usage(
    place: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", place]) == 2
    assert capsys.readouterr().err == f"tpulint: {message}\n"


@pytest.mark.usefixtures("folder")
def test_a_check_finds_the_same_with_an_observer(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("loop.py", "estimator.py", "replicate.py"):
        main(["check", "--no-cache", "--output-format", "json", "--certainty", "possible", name])
        expected = [
            (finding["code"], finding["message"]) for finding in json.loads(capsys.readouterr().out)
        ]
        notes = explained(capsys, name, "--certainty", "possible")["file"]["findings"]
        reported = [note for note in notes if note["state"].startswith("reported")]
        assert [finding["code"] for finding in reported] == [code for code, _ in expected]


class TestProject:
    @pytest.fixture
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = {
            "pyproject.toml": "",
            "train.py": "import steps\nimport tensorflow as tf\n"
            "tf.compat.v1.tpu.rewrite(steps.step, [tf.ones([8])])\n",
            "steps.py": "import tensorflow as tf\nfrom addons import gelu\nimport old\n\n\n"
            "def step(x):\n    return gelu(x)\n\n\ndef other(x):\n    return tf.unique(x)\n\n\n"
            "def plain(x):\n    return x\n",
            "old.py": "import tensorflow as tf\n",
            "seam.py": "NAME = 'tpu.rewrite'\n",
            "rest/flax_net.py": "import flax\n",
            "rest/plain.py": "# import jax\n",
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)

    @pytest.mark.usefixtures("project")
    def test_programs_their_files_and_what_is_not_read_are_listed(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["explain", "--no-cache", "."]) == 0
        assert (
            capsys.readouterr().out
            == """\
.: Checked 1 TPU program in 2 of 6 files.
program of train.py:
  entry points:
    train.py:3:1 [host] rewrite builds a TPU computation of function step
  files:
    steps.py
    train.py
  calls that were not analyzed:
    steps.py:7:12 addons.gelu: `addons` is not in the project
  functions that use TensorFlow, and that nothing that was read calls:
    steps.py:10:1 other
not read:
  old.py: a program imports it, but nothing that was read needs it; uses TensorFlow
  rest/flax_net.py: no TPU program imports it; uses JAX
  rest/plain.py: no TPU program imports it
  seam.py: it names the TPU API, but nothing in it is for a TPU
"""
        )

    @pytest.mark.usefixtures("project")
    def test_the_same_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "--no-cache", "--output-format", "json", "."]) == 0
        account = json.loads(capsys.readouterr().out)
        (program,) = account["programs"]
        assert (account["files"], account["files_read"]) == (6, 2)
        assert program["files"] == ["steps.py", "train.py"]
        assert [call["kind"] for call in program["not_analyzed"]] == ["outside"]
        assert len(account["unread"]) == 4
        assert main(["explain", "rest"]) == 0
        assert capsys.readouterr().out.startswith("rest: No TPU program found in 2 files.\n")


LOST = """\
import six
import sys
import tensorflow as tf
from other import table


def given(x, flag):
    return flag


class Net:
    def __init__(self):
        self.rate = float(sys.argv[1])


net = Net()
either = "a" if len(sys.argv) > 2 else "b"


def step(x, again=None):
    looked = table.find("a")
    rate = net.rate
    passed = given(x, looked)
    part = passed[0]
    for item in part:
        seen = item
    error = ValueError("a")
    dtype = tf.zeros([2]).dtype
    is_text = isinstance(either, str)
    is_list = isinstance({}, (list, tuple))
    eager = tf.executing_eagerly()
    third = either == "c"
    keys = [key for key, _ in six.iteritems({"k": x})]
    return x


tf.compat.v1.tpu.rewrite(step, [tf.ones([8])])
"""
ROW = {line.strip().partition(" = ")[0]: n for n, line in enumerate(LOST.splitlines(), 1)}
TABLE = "lost.py:21:14: the result of `other.table.find`"


class TestLostValues:
    @pytest.fixture(autouse=True)
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "pyproject.toml").touch()
        (tmp_path / "lost.py").write_text(LOST, encoding="utf-8")
        monkeypatch.chdir(tmp_path)

    def value(self, capsys: pytest.CaptureFixture[str], name: str) -> tuple[str, str]:
        account = explained(capsys, f"lost.py:{ROW[name]}")
        values = [
            row
            for context in account["line"]["contexts"]
            if context["lane"] == "device"
            for row in context["values"]
        ]
        (row,) = [row for row in values if row["name"] == name]
        return row["value"], row["lost"]

    @pytest.mark.parametrize(
        ("name", "lost"),
        [
            ("looked", TABLE),
            ("passed", TABLE),  # through an argument and a result
            ("part", TABLE),
            ("seen", TABLE),  # through a loop
            ("rate", "lost.py:13:27: an item of `sys.argv`"),
        ],
    )
    def test_an_unknown_value_says_where_it_was_lost(
        self, name: str, lost: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.value(capsys, name)[1] == lost

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("error", "builtins.ValueError object"),
            ("dtype", "tensorflow.float32"),
            ("is_text", "True"),
            ("is_list", "False"),
            ("eager", "False"),
            ("third", "False"),
            ("keys", "list ['k']"),
        ],
    )
    def test_what_was_often_lost_is_known(
        self, name: str, value: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The most frequent reasons of docs/recall.md that a model or a row can answer."""
        assert self.value(capsys, name) == (value, "")

    def test_the_text_shows_the_place_below_the_value(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["explain", "--no-cache", f"lost.py:{ROW['part']}"])
        assert f"     part = UNKNOWN\n       lost at {TABLE}\n" in capsys.readouterr().out
