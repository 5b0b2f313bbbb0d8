from __future__ import annotations

import tensorflow as tf

from tests.runtime.execute.tensorflows_marks import outside_compilation, ran


def test_a_value_goes_to_the_host_and_back_in_each_replica() -> None:
    def computation(x):
        y = x * 2.0
        text = outside_compilation(lambda v: tf.strings.to_number(tf.strings.as_string(v + 1.0)), y)
        return text * 10.0, y

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        placeholder = tf.compat.v1.placeholder(tf.float32, [])
        built = ran(computation, [[placeholder], [tf.constant(7.0)]])
        assert session.run(built.outputs, {placeholder: 3.0}) == ((70.0, 6.0), (150.0, 14.0))


def on_host(function, *args):
    """Return `function` through strings, which no device has."""
    return outside_compilation(
        lambda *arguments: tf.strings.to_number(tf.strings.as_string(function(*arguments))), *args
    )


def test_a_loop_holds_a_cluster():
    def computation(x):
        return tf.while_loop(
            lambda i, v: i < 10, lambda i, v: (i + 1, on_host(lambda a: a + 1.0, v * 1.0)), (0, x)
        )[1]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)], [tf.constant(7.0)]])
        assert session.run(built.outputs) == ((11.0,), (17.0,))


def test_a_conditional_holds_a_cluster():
    def computation(x):
        return tf.cond(x > 2.0, lambda: on_host(lambda a: a + 1.0, x), lambda: x * 3.0)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)], [tf.constant(7.0)]])
        assert session.run(built.outputs) == ((3.0,), (8.0,))


def test_a_function_holds_a_cluster():
    @tf.function
    def double(x):
        tf.print("seen", x) if False else None
        return on_host(lambda a: a + 1.0, x) * 2.0

    def computation(x):
        return double(double(x))

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)], [tf.constant(7.0)]])
        assert session.run(built.outputs) == ((10.0,), (34.0,))


def test_all_replicas_share_one_compiled_segment():
    graph = tf.Graph()
    with graph.as_default():
        ran(lambda x: tf.tanh(x) * 2.0, [[tf.constant(float(number))] for number in range(8)])
    functions = graph.as_graph_def().library.function
    assert len([function for function in functions if function.attr["_XlaMustCompile"].b]) == 1


def compiled(body, dtype=tf.float32):
    """Return how many functions XLA compiles of a computation of a scalar."""
    graph = tf.Graph()
    with graph.as_default():
        ran(body, [[tf.compat.v1.placeholder(dtype, [])]])
    return sum(
        function.attr["_XlaMustCompile"].b for function in graph.as_graph_def().library.function
    )


def test_the_test_of_a_loop_starts_no_program_of_xla():
    def counted(test):
        def step(i, v):
            return i + 1, on_host(lambda a: a + 1.0, v)

        return lambda x: tf.while_loop(test, step, (0, x))[1]

    assert compiled(counted(lambda i, _: i < 10)) == 1
    assert compiled(counted(lambda i, v: tf.logical_and(i < 10, v != 3.0))) == 1
    assert compiled(counted(lambda i, _: i * 2 < 10)) == 2
    assert compiled(counted(lambda i, _: tf.reduce_all(i < [4, 10]))) == 2
    assert compiled(lambda x: x > [1.0, 2.0]) == 1
    assert compiled(lambda x: x < 2.0) == 0


def test_xla_compares_what_tensorflow_has_no_kernel_for():
    assert compiled(lambda x: tf.equal(x, x), tf.uint8) == 1
    assert compiled(lambda x: tf.equal(x, x), tf.bfloat16) == 0


def test_a_test_of_scalars_is_xlas_also_of_what_is_no_number():
    values = [float("nan"), float("inf"), -0.0, 0.0, 1e-45]
    tests = [tf.less, tf.less_equal, tf.greater, tf.greater_equal, tf.equal, tf.not_equal]
    pairs = [(a, b) for a in values for b in values]

    def asked(a, b):
        return [test(a, b) for test in tests]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = [[tf.constant(a), tf.constant(b)] for a, b in pairs]
        xlas = tf.function(asked, jit_compile=True)
        mine, its = session.run((ran(asked, inputs).outputs, [xlas(*pair) for pair in inputs]))
    assert [list(row) for row in mine] == its


def test_a_computation_that_only_hands_on():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(lambda x: (x, tf.constant(5.0)), [[tf.constant(1.0)], [tf.constant(2.0)]])
        assert session.run(built.outputs) == ((1.0, 5.0), (2.0, 5.0))
        built = ran(lambda: None)
        assert built.outputs == ((),)
        session.run(built.done)


def test_a_head_cluster_behind_operations_that_only_hand_on():
    def computation(x):
        v = tf.compat.v1.get_variable("v", initializer=1.0, use_resource=True)
        inputs = tf.identity(tf.identity(x))
        old = outside_compilation(lambda a: v.read_value() + a, inputs)
        with tf.control_dependencies([v.assign_add(old)]):
            return v.read_value() * 1.0

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(2.0)], [tf.constant(5.0)]])
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run(built.outputs) == ((4.0,), (7.0,))
