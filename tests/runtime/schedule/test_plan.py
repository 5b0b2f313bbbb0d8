"""The plan of a region: its segments, in an order in which they can be built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tests.runtime.execute.tensorflows_marks import marked_by_tensorflow, outside_compilation
from tpulint.runtime.emulator import Options
from tpulint.runtime.extract.program import extract
from tpulint.runtime.extract.region import key_of
from tpulint.runtime.extract.segments import Side
from tpulint.runtime.schedule.schedule import Plan, Schedule, plan_region, schedule


def planned(computation: Callable[[Any], Any]) -> Plan:
    with tf.Graph().as_default():
        marked = marked_by_tensorflow(computation, [[tf.constant([1.0, 2.0])]])
        return plan_region(extract(marked).region)


def scheduled(computation: Callable[[Any], Any], **options: Any) -> Schedule:
    with tf.Graph().as_default():
        variable = tf.compat.v1.get_variable("v", [], use_resource=True)
        inputs = [[tf.constant(1.0)]]
        marked = marked_by_tensorflow(lambda x: computation(variable, x), inputs)
        return schedule(extract(marked), Options(**options))


def sides(plan: Plan) -> list[Side]:
    """The sides of the segments that do something."""
    plain = {"Const", "Identity", "NoOp"}
    return [
        segment.side for segment in plan.segments if any(op.type not in plain for op in segment.ops)
    ]


def test_the_device_alone_is_one_segment() -> None:
    assert sides(planned(lambda x: tf.exp(tf.abs(x)))) == [Side.DEVICE]


def test_a_cluster_cuts_the_device_in_two() -> None:
    plan = planned(lambda x: tf.exp(outside_compilation(tf.sin, tf.abs(x))))
    assert sides(plan) == [Side.DEVICE, Side.HOST, Side.DEVICE]


def test_what_needs_nothing_of_the_cluster_is_in_the_first_segment() -> None:
    plan = planned(lambda x: tf.tan(x) + outside_compilation(tf.sin, tf.abs(x)))
    first, *_ = (segment for segment in plan.segments if segment.side is Side.DEVICE)
    assert {"Abs", "Tan"} <= {op.type for op in first.ops}
    assert sides(plan) == [Side.DEVICE, Side.HOST, Side.DEVICE]


def test_each_operation_is_in_one_segment_and_after_what_it_needs() -> None:
    plan = planned(lambda x: tf.exp(outside_compilation(tf.sin, tf.abs(x))) + tf.tan(x))
    done: set[str] = set()
    for segment in plan.segments:
        own = {op.name for op in segment.ops if op.type != "Const"}
        assert own.isdisjoint(done)
        for name in own:
            assert plan.before[name] <= done | own
        done |= own
    assert done == {op.name for op in plan.region.ops if op.type != "Const"}


def test_a_conditional_with_a_cluster_holds_the_plans_of_its_branches() -> None:
    def computation(x: Any) -> Any:
        return tf.cond(
            tf.reduce_sum(x) > 0.0, lambda: outside_compilation(tf.sin, x), lambda: tf.exp(x)
        )

    with tf.Graph().as_default():
        tf.compat.v1.enable_control_flow_v2()
        plan = planned(computation)
    (branches,) = plan.nested.values()
    assert sorted(tuple(side.value for side in sides(branch)) for branch in branches) == [
        ("device",),
        ("host",),
    ]


def test_deferred_operations_are_planned_apart() -> None:
    with tf.Graph().as_default():
        inputs = [[tf.constant([1.0, 2.0])]]
        marked = marked_by_tensorflow(lambda x: outside_compilation(tf.sin, tf.abs(x)), inputs)
        region = extract(marked).region
        late = {key_of(region, op) for op in region.ops if region.cluster_of(op) is not None}
        plan = plan_region(region, late)
    assert plan.deferred is not None
    assert sides(plan) == [Side.DEVICE]
    assert sides(plan.deferred) == [Side.HOST]


def test_a_cluster_that_nobody_waits_for_runs_after_the_device_program() -> None:
    def computation(v: Any, x: Any) -> Any:
        updated = v.assign_add(x)
        with tf.control_dependencies([updated]):
            outside_compilation(lambda a: tf.print(a, v.read_value()), x * 2.0)
        return x

    actual = scheduled(computation)
    assert sides(actual.after) == [Side.HOST]
    assert Side.HOST not in sides(actual.during)


def test_a_cluster_that_needs_nothing_of_the_device_runs_before_it() -> None:
    def computation(v: Any, x: Any) -> Any:
        return v.assign_add(outside_compilation(lambda: v.read_value() * 2.0), read_value=True)

    actual = scheduled(computation)
    assert sides(actual.before) == [Side.HOST]
    assert not actual.access_schedule.deadlocks


def test_a_cluster_in_the_middle_never_runs() -> None:
    def computation(v: Any, x: Any) -> Any:
        y = v.assign_add(x, read_value=True)
        return outside_compilation(lambda a: a + v.read_value(), y) * 2.0

    (deadlock,) = scheduled(computation).access_schedule.deadlocks.values()
    assert deadlock.fault(0).rule == "TPU101"
    assert not scheduled(computation, host_variables="snapshot").access_schedule.deadlocks
