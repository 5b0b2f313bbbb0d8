"""The budgets of a reading, and its own failures."""

from __future__ import annotations

from tests.unit.reading import interpreter, program
from tpulint.absint.domain.objects import Function
from tpulint.absint.domain.site import Site
from tpulint.absint.interpreter.interpreter import Interpreter
from tpulint.absint.interpreter.session import MAX_CALL_DEPTH, MAX_CALLS, MIN_VISITS

MANY = "    return " + " + ".join(f"name{number}" for number in range(60)) + "\n"


def functions(text: str) -> tuple[Interpreter, list[Function]]:
    reader, module = interpreter(text)
    values = reader.module_env(module).names.values()
    return reader, [value for value in values if isinstance(value, Function)]


def can_enter(reader: Interpreter, function: Function) -> bool:
    return reader.can_enter(function, (), Site(function.module, function.code.place))


def test_a_large_function_is_read_a_few_times_in_a_run() -> None:
    reader, (large,) = functions(f"def large():\n{MANY}")
    reader.new_run()
    assert [can_enter(reader, large) for _ in range(MIN_VISITS + 1)] == [True] * MIN_VISITS + [
        False
    ]
    assert reader.reasons(large) == ["analyzed for earlier calls only"]


def test_a_small_function_is_read_more_often() -> None:
    reader, (small,) = functions("def small(x):\n    return x\n")
    reader.new_run()
    assert all(can_enter(reader, small) for _ in range(2 * MIN_VISITS))


def test_each_computation_and_feed_has_a_budget_of_its_own() -> None:
    reader, (large,) = functions(f"def large():\n{MANY}")
    reader.new_run()
    while can_enter(reader, large):
        pass
    assert reader.can_enter(large, (), Site(large.module, large.code.place), part="step")


def test_each_run_has_fresh_budgets() -> None:
    reader, (large,) = functions(f"def large():\n{MANY}")
    reader.new_run()
    while can_enter(reader, large):
        pass
    reader.new_run()
    assert can_enter(reader, large)


def test_recursion_goes_two_deep() -> None:
    reader, (again,) = functions("def again(x):\n    return again(x)\n")
    reader.new_run()
    reader.enter(again, ())
    assert can_enter(reader, again)
    reader.enter(again, ())
    assert not can_enter(reader, again)
    reader.leave()
    reader.leave()
    assert reader.reasons(again) == ["recursion"]
    assert not reader.unfollowed  # what it does has been read
    assert not reader.is_active(again)


def test_calls_go_so_deep() -> None:
    text = "".join(f"def f{number}():\n    pass\n" for number in range(MAX_CALL_DEPTH + 2))
    reader, actual = functions(text)
    reader.new_run()
    for item in actual[:MAX_CALL_DEPTH]:
        reader.enter(item, ())
    assert can_enter(reader, actual[MAX_CALL_DEPTH])
    reader.enter(actual[MAX_CALL_DEPTH], ())
    assert not can_enter(reader, actual[MAX_CALL_DEPTH + 1])
    (call,) = reader.unfollowed
    assert (call.function, call.limit) == (
        f"f{MAX_CALL_DEPTH + 1}",
        f"calls more than {MAX_CALL_DEPTH} deep",
    )


def test_a_run_reads_so_many_calls() -> None:
    text = "".join(f"def f{number}():\n    pass\n" for number in range(MAX_CALLS // 10))
    reader, actual = functions(text)
    reader.new_run()
    assert all(can_enter(reader, item) for item in actual for _ in range(10))
    assert not can_enter(reader, actual[0])
    assert reader.reasons(actual[0]) == [f"more than {MAX_CALLS:,} calls in one run"]


def test_a_failure_of_the_reader_costs_what_is_being_read() -> None:
    reader, _ = functions("")
    with reader.guarded("main.py: train"):
        raise KeyError("x")
    (failure,) = reader.failures
    assert (failure.reading, failure.error) == ("main.py: train", "KeyError: 'x'")
    assert str(failure).startswith("internal error while reading main.py: train: KeyError: 'x' (")


def test_a_program_that_is_read_has_no_failure() -> None:
    assert not program("import tensorflow as tf\ntf.compat.v1.tpu.rewrite(tf.abs)\n").failures
