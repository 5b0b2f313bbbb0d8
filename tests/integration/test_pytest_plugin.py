"""The pytest plugin in a real pytest, found by the entry point that pyproject.toml declares."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.integration.installed import ROOT, entry_points

SECONDS = 240
pytest_plugins = ["pytester"]

COUNTS = """\
import tensorflow as tf

def cores():
    return len(tf.config.list_logical_devices("TPU"))
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """pytest in a process of its own, where tpulint is installed as pyproject.toml says."""
    installed = entry_points(pytester.path / "installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(installed)]))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")

    def with_arguments(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*arguments, timeout=SECONDS)

    return with_arguments


def test_the_fixture_emulates_what_marker_and_parameter_say(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        helper=COUNTS,
        test_fixture="""
        import pytest
        import tensorflow as tf
        from helper import cores

        def test_two_by_itself(emulated_tpu):
            assert cores() == 2

        @pytest.mark.emulated_tpu(num_replicas=4)
        def test_as_marked(emulated_tpu):
            assert cores() == 4

        @pytest.mark.emulated_tpu(topology="2x2x2")
        def test_a_topology(emulated_tpu):
            assert cores() == 8

        @pytest.mark.parametrize("emulated_tpu, there", [(1, 1), ("1x1x2", 2)],
                                 indirect=["emulated_tpu"])
        def test_as_parametrized(emulated_tpu, there):
            assert cores() == there

        def test_a_step_runs(emulated_tpu):
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
            tf.config.experimental_connect_to_cluster(resolver)
            tf.tpu.experimental.initialize_tpu_system(resolver)
            strategy = tf.distribute.TPUStrategy(resolver)

            @tf.function
            def step(x):
                return strategy.run(lambda y: y * 2.0, args=(x,))

            values = strategy.experimental_local_results(step(tf.constant(3.0)))
            assert [float(value) for value in values] == [6.0, 6.0]

        def test_nothing_is_left():
            assert cores() == 0
        """,
    )
    run("--strict-markers").assert_outcomes(passed=7)


def test_the_option_emulates_for_all_tests_also_while_they_are_imported(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        helper=COUNTS,
        test_option="""
        import pytest
        import tensorflow as tf
        from helper import cores

        AT_IMPORT = cores()

        def test_without_fixture():
            assert AT_IMPORT == cores() == 4

        def test_the_fixture_takes_what_is_there(emulated_tpu):
            assert cores() == 4

        @pytest.mark.emulated_tpu(2)
        def test_unless_another_number_is_asked_for(emulated_tpu):
            assert cores() == 2

        def test_and_then_it_is_back():
            assert cores() == 4

        def test_a_bucket_is_a_directory():
            with tf.io.gfile.GFile("gs://bucket/object", "w") as file:
                file.write("content")
        """,
    )
    done = run("--tpulint-emulate", "4", "--tpulint-storage", "buckets")
    done.assert_outcomes(passed=5)
    assert (pytester.path / "buckets/bucket/object").read_text() == "content"
    done.stdout.fnmatch_lines(["tpulint: an emulated TPU of 4 cores"])


def test_a_test_that_fails_by_a_fault_shows_the_finding(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        model="""
        import tensorflow.compat.v1 as tf

        def inner(x):
            return tf.tpu.outside_compilation(tf.sin, x)

        def outer(x):
            with tf.Graph().as_default():
                return tf.tpu.rewrite(
                    lambda y: tf.tpu.outside_compilation(inner, y), [tf.constant(x)]
                )
        """,
        reduced="""
        import tensorflow as tf

        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(""))

        def replica_fn(x):
            return strategy.reduce("SUM", x, axis=None)

        @tf.function
        def step(x):
            return strategy.run(replica_fn, args=(x,))
        """,
        test_model="""
        from model import outer

        class Odd(Exception):
            rule = "none of ours"

        def test_outer(emulated_tpu):
            outer(1.0)

        def test_reduce(emulated_tpu):
            from reduced import step
            step(1.0)

        def test_odd():
            raise Odd
        """,
    )
    done = run()
    done.assert_outcomes(failed=3)
    done.stdout.fnmatch_lines(
        ["*- tpulint -*", "NestedClusterError at model.py:4 *`tpulint check` says", "", "TPU201 *"]
    )
    done.stdout.fnmatch_lines(
        ["*- tpulint -*", "RuntimeError [[]TPU705 *`tpulint check` says", "", "TPU705 *"]
    )
    assert done.stdout.str().count("- tpulint -") == 2


def test_a_worker_of_xdist_has_its_own(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        helper=COUNTS,
        test_one="from helper import cores\ndef test_one(): assert cores() == 2",
    )
    run("-n", "1", "--tpulint-emulate", "1x1x2").assert_outcomes(passed=1)


def test_a_session_that_does_not_use_it_never_imports_tensorflow(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_lean(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("tpulint")
            assert not {"tensorflow", "numpy", "libcst"} & set(sys.modules)
        """
    )
    run().assert_outcomes(passed=1)


def test_a_wrong_number_is_wrong_usage(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile("def test_one(): pass")
    done = run("--tpulint-emulate", "none")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --tpulint-emulate: a topology is *, not 'none'"])


def test_without_tensorflow_one_line_says_what_is_missing(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makeconftest(
        """
        import importlib.util
        there = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: (
            None if name == "tensorflow" else there(name, *rest)
        )
        """
    )
    pytester.makepyfile("def test_one(emulated_tpu): pass")
    done = run("--tpulint-emulate", "2")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --tpulint-emulate: *pip install *[[]runtime]'"])
    done = run()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*pip install *[[]runtime]'"])
