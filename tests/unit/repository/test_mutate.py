"""Mutants: sites are found, faults are seeded and counted."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from scripts.mutate import public
from scripts.mutate.draw import Mutant, batches, drawn, sites_under
from scripts.mutate.measure import Checked, Result
from scripts.mutate.operators import OPERATORS, Operator
from scripts.mutate.report import report
from scripts.mutate.seed import seeded
from scripts.mutate.sites import Site, sites_of
from tpulint.finding import Certainty

PROGRAM = '''\
import tensorflow.compat.v1 as tf


def model_fn(features, labels, mode, params):
    """Train."""
    loss = tf.reduce_mean(features["é"] - labels)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    train_op = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(params):
    rows = tf.data.Dataset.range(100).repeat()
    return rows.batch(params["batch_size"], drop_remainder=True)


def main(unused):
    params = {"rate": 0.1}
    config = tf.estimator.tpu.RunConfig(tpu_config=tf.estimator.tpu.TPUConfig(100, 8))
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=True, train_batch_size=8, params=params
    )
    estimator.train(input_fn, max_steps=1)


if __name__ == "__main__":
    tf.app.run(main)
'''
STEPS = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


@tf.function
def train(x):
    def step(x):
        return x * 2.0

    return strategy.run(step, args=(x,))


train(tf.constant(1.0))
"""
KINDS = {
    "spec",
    "train spec",
    "spec call",
    "cross shard",
    "drop remainder",
    "estimator",
    "step",
    "nested step",
    "compiled loop",
    "split spec call",
}


def every_mutant(filename: str, text: str) -> list[Mutant]:
    return drawn({filename: text}, sites_of(filename, text), per_operator=99, a_file=999)


def test_what_is_built_outside_the_device_is_no_site_for_its_faults() -> None:
    last = PROGRAM.index("    return tf.estimator.tpu.TPUEstimatorSpec")
    outside = PROGRAM[:last] + "    with mtf.utils.outside_all_rewrites():\n    " + PROGRAM[last:]
    kinds = {site.kind for site in sites_of("a.py", outside)}
    assert kinds & {"spec", "train spec", "spec call"} == {"spec call"}


def test_what_every_core_gets_alike_is_no_site_for_scalars() -> None:
    alike = PROGRAM.replace("TPUConfig(100, 8)", "TPUConfig(100, 8, None, Inputs.BROADCAST)")
    kinds = [{site.kind for site in sites_of("a.py", text)} for text in (PROGRAM, alike)]
    assert kinds[0] - kinds[1] == {"split spec call"}


def test_each_kind_of_site_is_found() -> None:
    kinds = {site.kind for text in (PROGRAM, STEPS) for site in sites_of("a.py", text)}
    assert kinds == KINDS
    assert {kind for operator in OPERATORS for kind in operator.kinds} == KINDS


def test_a_package_that_never_uses_a_tpu_has_no_sites(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("use_tpu=True", "use_tpu=False"))
    assert sites_under(tmp_path) == ({}, [])


BATCHES = """
import tensorflow as tf

def {name}(params):
    del params
    return rows.batch(8, drop_remainder=True)

def scores(made, data):
    return made.predict(data)

def run(estimator, scored=scores):
    {call}
"""


@pytest.mark.parametrize(
    ("name", "call", "count"),
    [
        ("rows", "estimator.train(rows, steps=1)", 1),
        ("rows", "estimator.predict(rows)", 0),
        ("rows", "estimator.predict(rows), estimator.evaluate(input_fn=rows)", 1),
        ("rows", "scores(estimator, rows)", 0),
        ("rows", "scores(estimator, data=rows)", 0),
        ("rows", "scored(estimator, rows)", 0),
        ("rows", "library.scores(estimator, rows)", 1),
        ("rows", "pass", 1),
    ],
)
def test_a_pipeline_that_only_predicts_is_no_site(name: str, call: str, count: int) -> None:
    actual = sites_of("a.py", BATCHES.format(name=name, call=call))
    assert [item.kind for item in actual] == ["drop remainder"] * count


def test_a_batch_that_is_taken_out_of_its_dataset_is_no_site() -> None:
    text = PROGRAM.replace("rows.batch(", "tf.data.experimental.get_single_element(rows.batch(")
    text = text.replace("drop_remainder=True)", "drop_remainder=True))")
    assert "drop remainder" not in {site.kind for site in sites_of("a.py", text)}


@pytest.mark.parametrize(
    ("path", "has_sites"),
    [("a/b.py", True), ("a/b_test_lib.py", False), ("testing/b.py", False), ("latest.py", True)],
)
def test_tests_have_no_sites(path: str, has_sites: bool, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(PROGRAM)
    assert bool(sites_under(tmp_path)[1]) is has_sites


def test_the_batches_of_a_folder_without_estimators_are_no_sites(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BATCHES.format(name="rows", call="pass"))
    assert sites_under(tmp_path)[1] == []


def test_a_broken_file_has_no_sites() -> None:
    assert sites_of("a.py", "import tensorflow as tf\nprint 1\n") == []


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_each_operator_changes_a_program_and_leaves_it_python(operator: Operator) -> None:
    written = [
        seeded(text, site, operator)
        for text in (PROGRAM, STEPS)
        for site in sites_of("a.py", text)
        if site.kind in operator.kinds
    ]
    assert any(text not in (None, PROGRAM, STEPS) for text in written)
    for text in written:
        assert text is None or ast.parse(text)


def test_a_replaced_expression_is_all_that_changes() -> None:
    (site,) = [site for site in sites_of("a.py", PROGRAM) if site.kind == "cross shard"]
    (operator,) = [operator for operator in OPERATORS if operator.kinds == ("cross shard",)]
    optimizer = "tf.train.GradientDescentOptimizer(0.1)"
    expected = PROGRAM.replace(f"tf.tpu.CrossShardOptimizer({optimizer})", optimizer)
    assert seeded(PROGRAM, site, operator) == expected


def test_a_keyword_behind_letters_of_two_bytes_is_replaced() -> None:
    text = 'import tensorflow as tf\ntf.TPUEstimator("é", params=params)\n'
    (site,) = sites_of("a.py", text)
    (operator,) = [operator for operator in OPERATORS if operator.kinds == ("estimator",)]
    expected = text.replace("params=params", "params=dict(params, batch_size=8)")
    assert seeded(text, site, operator) == expected


def test_the_draw_keeps_its_bounds_and_repeats_itself() -> None:
    sites = sites_of("a.py", PROGRAM)
    few = drawn({"a.py": PROGRAM}, sites, per_operator=1, a_file=5)
    assert len(few) == 5
    assert len({mutant.operator.name for mutant in few}) == 5
    assert few == drawn({"a.py": PROGRAM}, sites, per_operator=1, a_file=5)


def test_a_batch_holds_no_file_twice() -> None:
    mutants = every_mutant("a.py", PROGRAM) + every_mutant("b.py", STEPS)
    actual = batches(mutants)
    assert sum(map(len, actual)) == len(mutants)
    for item in actual:
        assert len({mutant.site.filename for mutant in item}) == len(item)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("mutants")
    for name, text in (("one", PROGRAM), ("two", STEPS)):
        (folder / name).mkdir()
        (folder / name / "program.py").write_text(text, encoding="utf-8")
        (folder / name / "test_program.py").write_text(text, encoding="utf-8")
    texts, sites = sites_under(folder)
    assert {Path(path).name for path in texts} == {"program.py"}
    checked = Checked(folder, ["one", "two"], folder / "cache")
    mutants = drawn(texts, sites, per_operator=99, a_file=99)
    return [result for batch in batches(mutants) for result in checked.results(batch)]


def test_every_fault_in_a_plain_program_is_found(results: list[Result]) -> None:
    assert [label(result) for result in results if result.certainty is None] == []


def test_what_always_happens_in_a_plain_program_is_definite(results: list[Result]) -> None:
    always = [result for result in results if result.mutant.always]
    assert [label(result) for result in always if result.certainty is not Certainty.DEFINITE] == []


def test_the_page_counts_what_was_found(results: list[Result]) -> None:
    page = report(results, {"the rule is silent": 3})
    assert f"| all | {len(results)} | {len(results)} (100 %) |" in page
    assert "| the rule is silent | 3 |" in page


def label(result: Result) -> str:
    site: Site = result.mutant.site
    return f"{result.mutant.operator.name} at {site.kind}"


def steps_of(creation: str, run: str) -> int:
    text = STEPS.replace("    def step", f"    strategy = {creation}\n\n    def step")
    sites = sites_of("main.py", text.replace("run(step", f"run({run}"))
    return sum(site.kind == "step" for site in sites)


@pytest.mark.parametrize(
    ("creation", "run", "count"),
    [
        ("strategies.get_strategy()", "step", 1),
        ("strategies.get_strategy()", "self.step", 1),
        ("strategies.get_strategy()", "self.agent.step", 0),
        ("tf.distribute.MirroredStrategy()", "step", 0),
    ],
)
def test_a_step_that_no_tpu_runs_is_no_site(creation: str, run: str, count: int) -> None:
    assert steps_of(creation, run) == count


def test_a_public_repository_is_seeded_at_every_batch_and_optimizer(tmp_path: Path) -> None:
    name = next(iter(public.read_pins()))
    (tmp_path / name).mkdir()
    pipeline = "def rows(data):\n    return data.batch(8, drop_remainder=True)\n"
    (tmp_path / name / "program.py").write_text(f"{PROGRAM}\n\n{pipeline}", encoding="utf-8")
    results = public.measured(tmp_path, [name], per_operator=0, a_file=0)
    outcomes = {(result.mutant.operator.codes[0], result.certainty) for result in results}
    assert outcomes == {
        ("TPU604", Certainty.DEFINITE),
        ("TPU605", Certainty.DEFINITE),
        ("TPU605", None),  # nothing feeds a TPU by it
    }
    assert "| TPU605 | 2 | 1 (50 %) | 1 (50 %) | 100 % |" in public.table(results)


@pytest.mark.parametrize(
    ("call", "seeded_call"),
    [
        ("rows.batch(8, drop_remainder=True)", "rows.batch(8)"),
        ("rows.batch(drop_remainder=True, batch_size=8)", "rows.batch(batch_size=8)"),
        ("map_and_batch(f, drop_remainder=is_training,)", "map_and_batch(f,)"),
        ("make_input(rows, drop_remainder=flags.even)", "make_input(rows, drop_remainder=False)"),
        ("rows.batch(8, drop_remainder=False)", None),
    ],
)
def test_whatever_drops_a_remainder_is_a_site(call: str, seeded_call: str | None) -> None:
    text = f"import tensorflow as tf\nmade = {call}\n"
    (operator,) = [operator for operator in OPERATORS if operator.kinds == ("drop remainder",)]
    actual = [seeded(text, site, operator) for site in sites_of("a.py", text, whole=True)]
    assert actual == ([text.replace(call, seeded_call)] if seeded_call else [])


def test_without_a_network_the_repositories_that_are_there_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public, "fetch", lambda *_: False)
    first, *others = public.read_pins()
    with pytest.raises(public.NoRepositories, match=r"is there a\s+network\?"):
        public.report(tmp_path, per_operator=1, a_file=1)
    (tmp_path / others[0]).mkdir()
    there, missing = public.bring(tmp_path)
    assert there == others[:1]
    assert missing == [first, *others[1:]]


def test_one_commit_of_a_repository_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = tmp_path / "owner" / "name"
    origin.mkdir(parents=True)
    (origin / "program.py").write_text(PROGRAM, encoding="utf-8")
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=origin, check=True)
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=origin, check=True, capture_output=True, text=True)
    monkeypatch.setattr(public, "HOST", str(tmp_path))
    (tmp_path / "cache").mkdir()
    folder = tmp_path / "cache" / "owner+name"
    assert not public.fetch(folder, "owner/other", commit.stdout.strip())
    assert not folder.exists()
    assert public.fetch(folder, "owner/name", commit.stdout.strip())
    assert (folder / "program.py").read_text(encoding="utf-8") == PROGRAM
    assert [path.name for path in folder.parent.iterdir()] == ["owner+name"]


def test_the_pins_are_commits_of_forty_repositories() -> None:
    pins = public.read_pins()
    assert len(pins) == 40
    assert {len(commit) for _, commit in pins.values()} == {40}
