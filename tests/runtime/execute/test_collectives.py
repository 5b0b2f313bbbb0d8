from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.tpu.ops import tpu_ops

from tests.runtime.execute.tensorflows_marks import outside_compilation, ran
from tpulint.runtime.errors import DivergentCollectiveError, UnsupportedOpError

ONE_THREAD = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)


def values_of(computation, inputs, config=None):
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        marked = ran(computation, [[tf.constant(value)] for value in inputs])
        first = session.run(marked.outputs)
        np.testing.assert_equal(session.run(marked.outputs), first)
        return [part[0] for part in first]


def on_host(function, value):
    return outside_compilation(
        lambda x: tf.strings.to_number(tf.strings.as_string(function(x))), value
    )


@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_a_sum_over_all_replicas(replicas):
    arguments = [float(10**place) for place in range(replicas)]
    got = values_of(lambda x: tpu_ops.cross_replica_sum(x * 2.0) + x, arguments)
    assert got == [2.0 * sum(arguments) + x for x in arguments]


def test_a_sum_over_groups():
    got = values_of(
        lambda x: tpu_ops.cross_replica_sum(x, group_assignment=[[0, 3], [1, 2]]),
        [1.0, 2.0, 4.0, 8.0],
    )
    assert got == [9.0, 6.0, 6.0, 9.0]


def test_groups_of_one_in_a_loop_wait_for_nobody():
    def computation(x):
        return tf.while_loop(
            lambda i, _: i < 4,
            lambda i, v: (i + 1, tpu_ops.cross_replica_sum(v, [[1], [0]]) + 1.0),
            (0, x),
        )[1]

    assert values_of(computation, [1.0, 2.0]) == [5.0, 6.0]


def test_sums_before_and_after_a_cluster():
    def computation(x):
        whole = tpu_ops.cross_replica_sum(x)
        return tpu_ops.cross_replica_sum(on_host(lambda a: a + 1.0, whole)) + x

    assert values_of(computation, [1.0, 2.0, 4.0]) == [25.0, 26.0, 28.0]


def test_a_sum_in_a_loop():
    def computation(x):
        return tf.while_loop(
            lambda i, _: i < 4,
            lambda i, v: (i + 1, tpu_ops.cross_replica_sum(v) + 1.0),
            (0, x),
        )[1]

    a, b = 1.0, 2.0
    for _ in range(4):
        a = b = a + b + 1.0
    assert values_of(computation, [1.0, 2.0]) == [a, b]


def test_hang_found_by_comparison_who_is_early_for_the_next_iteration_takes_nobodys_sum():
    def computation(x):
        return tf.while_loop(
            lambda i, _: i < 9,
            lambda i, v: (i + 1, tpu_ops.cross_replica_sum(v) / 5.0 + x),
            (0, x),
        )[1]

    numbers = np.arange(5, dtype=np.float64)
    want = numbers
    for _ in range(9):
        want = want.mean() + numbers
    np.testing.assert_allclose(
        values_of(computation, numbers.tolist(), ONE_THREAD), want, rtol=1e-5
    )


@pytest.mark.parametrize("times", range(4))
def test_hang_found_by_comparison_two_calls_of_one_function_that_meets(times):
    @tf.function(autograph=False)
    def total(x):
        return tpu_ops.cross_replica_sum(x)

    def computation(x):
        return total(x) + 10.0 * total(on_host(lambda a: a, x) + 1.0) + 1000.0 * total(x * 2.0)

    assert values_of(computation, [1.0, 2.0, 4.0, 8.0], ONE_THREAD) == [30205.0] * 4


def test_an_exchange_of_parts():
    got = values_of(
        lambda x: tpu_ops.all_to_all(x, concat_dimension=0, split_dimension=0, split_count=2),
        [[[1.0], [2.0]], [[3.0], [4.0]]],
    )
    np.testing.assert_equal(got, [[[1.0], [3.0]], [[2.0], [4.0]]])


def test_a_permutation():
    got = values_of(lambda x: tpu_ops.collective_permute(x, [[0, 1], [1, 2]]), [1.0, 2.0, 4.0])
    assert got == [0.0, 1.0, 2.0]


def mentions(error, *texts):
    return all(text in str(error) for text in (*texts, __file__))


def test_the_gradient_of_a_permutation_goes_the_other_way():
    def computation(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            squares = tpu_ops.collective_permute(x, [[0, 1], [1, 2]]) ** 2
        return tape.gradient(squares, x)

    assert values_of(computation, [1.0, 2.0, 3.0]) == [2.0, 4.0, 0.0]


@pytest.mark.parametrize(
    "exchange",
    [
        lambda x, named: tpu_ops.collective_permute(x, named),
        lambda x, named: tpu_ops.cross_replica_sum(x, group_assignment=named),
    ],
)
def test_replicas_that_data_names_are_refused(exchange):
    def computation(x):
        return exchange(x, tf.cast(tf.fill([1, 2], x), tf.int32))

    with pytest.raises(UnsupportedOpError, match="must be a compile-time constant") as caught:
        values_of(computation, [0.0, 1.0])
    assert caught.value.rule == "TPU502"


def test_a_sum_that_one_replica_does_not_reach():
    def computation(x):
        return tf.cond(x > 1.5, lambda: tpu_ops.cross_replica_sum(x), lambda: x)

    assert values_of(computation, [2.0, 3.0]) == [5.0, 5.0]
    assert values_of(computation, [1.0, 1.5]) == [1.0, 1.5]
    with pytest.raises(DivergentCollectiveError) as caught:
        values_of(computation, [1.0, 2.0])
    assert caught.value.rule == "TPU306"
    assert mentions(
        caught.value,
        "replica 1: waits in CrossReplicaSum",
        "replica 0: has taken another branch of 'cond'",
    )


def rule_of(computation):
    """Return the rule of the error of `computation`.

    Beside its input it is given a value that is 1 for the replica that asks first and 2 for the
    other.
    """
    calls = itertools.count(1)

    def differs(x):
        def ask(value):
            return np.float32(next(calls) + 0.0 * value)

        return outside_compilation(
            lambda: tf.ensure_shape(tf.numpy_function(ask, [x], tf.float32), [])
        )

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        marked = ran(lambda x: computation(x, differs), [[tf.constant(1.0 + n)] for n in range(2)])
        with pytest.raises(DivergentCollectiveError) as caught:
            session.run(marked.outputs)
        return caught.value.rule


def summed(x):
    return lambda: tpu_ops.cross_replica_sum(x)


def counted(times, x):
    return tf.while_loop(
        lambda i, _: i < times, lambda i, v: (i + 1.0, tpu_ops.cross_replica_sum(v)), (0.0, x)
    )[1]


def parts_of_all(x):
    """Zeros in replica 0, tens in replica 1: an exchange leaves each replica with its own."""
    return tpu_ops.all_to_all(
        tf.stack([x * 0.0, x * 0.0 + 10.0]), concat_dimension=0, split_dimension=0, split_count=2
    )


@pytest.mark.parametrize(
    ("rule", "computation"),
    [
        ("TPU306", lambda x, _: tf.cond(x > 1.5, summed(x), lambda: x)),
        ("TPU306", lambda x, _: tf.cond(tf.sin(x * 2.0) > 0.0, summed(x), lambda: x)),
        ("TPU306", lambda x, _: counted(x * 2.0, x)),
        ("TPU306", lambda x, _: tf.while_loop(lambda v: v < 9.0, lambda v: counted(v, v), [x])),
        ("TPU305", lambda x, d: tf.cond(d(1.0) > 1.5, summed(x), lambda: x)),
        ("TPU305", lambda x, d: counted(d(1.0), x)),
        ("TPU306", lambda x, d: tf.cond(d(x) > 1.5, summed(x), lambda: x)),
        ("TPU306", lambda x, _: tf.cond(parts_of_all(x)[0] > 1.5, summed(x), lambda: x)),
        (
            "TPU305",
            lambda x, d: tf.cond(
                tpu_ops.cross_replica_sum(x) * 0.0 + d(1.0) > 1.5, summed(x), lambda: x
            ),
        ),
        (
            "TPU306",
            lambda x, d: tf.cond(
                d(1.0) > 0.0, lambda: tf.cond(x > 1.5, summed(x), lambda: x), lambda: x
            ),
        ),
    ],
)
def test_whose_matter_it_is_depends_on_what_the_condition_comes_from(rule, computation):
    assert rule_of(computation) == rule


def test_replicas_that_wait_in_different_sums():
    def computation(x):
        return tf.cond(
            x > 1.5,
            lambda: tpu_ops.cross_replica_sum(x),
            lambda: tpu_ops.cross_replica_sum(x * 2.0),
        )

    with pytest.raises(DivergentCollectiveError) as caught:
        values_of(computation, [1.0, 2.0])
    assert mentions(
        caught.value, ": waits in CrossReplicaSum", ": has taken another branch of 'cond'"
    )


def test_replicas_that_go_round_a_loop_a_different_number_of_times():
    def computation(x):
        return tf.while_loop(
            lambda i, _: i < tf.cast(x, tf.int32),
            lambda i, v: (i + 1, tpu_ops.cross_replica_sum(v) * 0.5),
            (0, x),
        )[1]

    assert values_of(computation, [3.0, 3.0]) == [3.0, 3.0]
    with pytest.raises(DivergentCollectiveError) as caught:
        values_of(computation, [3.0, 5.0])
    assert mentions(
        caught.value, "replica 1: waits", "replica 0: has ended its loop", "after 3 rounds"
    )


def test_a_step_after_a_failed_one():
    def computation(x):
        return tf.cond(x > 1.5, lambda: tpu_ops.cross_replica_sum(x), lambda: x)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        arguments = [tf.compat.v1.placeholder(tf.float32, []) for _ in range(3)]
        marked = ran(computation, [[argument] for argument in arguments])
        for _ in range(3):
            with pytest.raises(DivergentCollectiveError):
                session.run(marked.outputs, dict(zip(arguments, [2.0, 2.0, 1.0], strict=True)))
            values = session.run(marked.outputs, dict(zip(arguments, [2.0, 4.0, 8.0], strict=True)))
            assert values == ((14.0,),) * 3


def test_a_step_with_sums_of_several_dtypes_after_a_failed_one():
    def both(x):
        return tpu_ops.cross_replica_sum(x * 2.0) + tf.cast(
            tpu_ops.cross_replica_sum(tf.cast(x, tf.int32)), tf.float32
        )

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        arguments = [tf.compat.v1.placeholder(tf.float32, []) for _ in range(3)]
        marked = ran(
            lambda x: tf.cond(x > 1.5, lambda: both(x), lambda: x),
            [[argument] for argument in arguments],
        )
        for _ in range(3):
            with pytest.raises(DivergentCollectiveError):
                session.run(marked.outputs, dict(zip(arguments, [2.0, 2.0, 1.0], strict=True)))
            values = session.run(marked.outputs, dict(zip(arguments, [2.0, 4.0, 8.0], strict=True)))
            assert values == ((42.0,),) * 3


def test_sums_at_once_in_a_loop_keep_their_places():
    def computation(x):
        def body(i, a, b):
            more, less = tpu_ops.cross_replica_sum(a + 1.0), tpu_ops.cross_replica_sum(b - i)
            return i + 1, more / 4.0, less

        return tf.while_loop(lambda i, *_: i < 5, body, (0, x, tf.cast(x, tf.int32)))[1:]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        marked = ran(computation, [[tf.constant(value)] for value in (1.0, 2.0)])
        got = session.run(marked.outputs)
    (a, b), (c, d) = (1.0, 2.0), (1, 2)
    for i in range(5):
        a = b = (a + 1.0 + b + 1.0) / 4.0
        c = d = c - i + d - i
    assert got == ((a, c), (b, d))


def test_the_first_of_the_sums_that_one_replica_does_not_reach_is_named():
    def computation(x):
        def summed():
            first = tpu_ops.cross_replica_sum(x * 2.0, name="first_of_all")
            return first + tpu_ops.cross_replica_sum(x * 3.0, name="second")

        return tf.cond(x > 1.5, summed, lambda: x)

    for _ in range(3):
        with pytest.raises(DivergentCollectiveError, match="first_of_all"):
            values_of(computation, [1.0, 2.0])
