from __future__ import annotations

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.execute.tensorflows_marks import ran
from tpulint.runtime.errors import UnsupportedOpError


def names_the_line(error, text):
    return __file__ in str(error) and text in str(error)


@pytest.mark.parametrize("fed", [True, False])
def test_an_operation_without_kernel_fails_also_where_its_inputs_are_constant(fed):
    def computation(x):
        return tf.strings.length(tf.strings.as_string(x)) + 1

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = tf.compat.v1.placeholder(tf.float32, []) if fed else tf.constant(1.0)
        built = ran(computation, [[inputs]])
        with pytest.raises(UnsupportedOpError) as caught:
            session.run(built.outputs, {inputs: 1.0} if fed else {})
    assert caught.value.rule == "TPU501"
    assert isinstance(caught.value, tf.errors.InvalidArgumentError)
    assert names_the_line(caught.value, "AsString")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)]])
        for _ in range(2):
            with pytest.raises(UnsupportedOpError):
                session.run(built.outputs)


def test_an_operation_without_kernel_in_a_branch_not_taken_is_compiled_all_the_same():
    def computation(x):
        return tf.cond(
            x > 0.0,
            lambda: x,
            lambda: tf.cast(tf.histogram_fixed_width(x, [0.0, 1.0])[0], tf.float32),
        )

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)]])
        with pytest.raises(UnsupportedOpError, match="HistogramFixedWidth"):
            session.run(built.outputs)


def test_an_assertion_does_nothing_on_the_device():
    def computation(x):
        with tf.control_dependencies([tf.debugging.Assert(x > 10.0, ["too small", x])]):
            return x + 1.0

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0)]])
        assert session.run(built.outputs) == ((2.0,),)


def test_a_dtype_that_no_tpu_holds():
    def computation(x):
        return tf.math.real(x * 2.0)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        built = ran(computation, [[tf.constant(1.0, tf.complex128)]])
        with pytest.raises(UnsupportedOpError, match="complex128") as caught:
            session.run(built.outputs)
    assert caught.value.rule == "TPU504"


def test_the_kernel_of_a_lookup_is_reported_before_the_dtype_of_its_keys():
    words = tf.lookup.KeyValueTensorInitializer(["cat", "dog"], tf.constant([0.0, 1.0]))
    table = tf.lookup.StaticHashTable(words, 2.0)

    @tf.function
    def step(x):
        return tpu.replicate(lambda y: table.lookup(tf.constant(["cat"])) * y, [[x], [x]])

    with pytest.raises(UnsupportedOpError, match="LookupTableFindV2") as caught:
        step(tf.constant(1.0))
    assert caught.value.rule == "TPU501"
    assert names_the_line(caught.value, "LookupTableFindV2")


@pytest.mark.parametrize("in_session", [True, False])
def test_a_shape_that_hangs_on_chance(in_session):
    def computation(x):
        how_many = tf.random.uniform([], 1, 4, tf.int32)
        return tf.reduce_sum(x) + tf.cast(tf.reduce_sum(tf.range(how_many)), tf.float32)

    def run():
        if not in_session:
            return tpu.replicate(computation, [[tf.ones([3])]])
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            placeholder = tf.compat.v1.placeholder(tf.float32, [3])
            return session.run(
                tpu.replicate(computation, [[placeholder]]), {placeholder: [1.0, 1.0, 1.0]}
            )

    for _ in range(2):
        with pytest.raises(UnsupportedOpError) as caught:
            run()
        assert caught.value.rule == "TPU502"
        assert names_the_line(caught.value, "must be a compile-time constant")


@pytest.mark.parametrize("is_loop", [True, False], ids=["a loop", "a single element"])
def test_a_dataset_in_the_step_that_uses_a_variable_is_refused_at_once(is_loop):
    dataset = tf.data.Dataset.from_tensor_slices(tf.ones([8])).batch(4)
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        with strategy.scope():
            rate = tf.Variable(1.0)

        def step():
            if is_loop:
                return dataset.reduce(0.0, lambda total, x: total + rate * tf.reduce_sum(x))
            return tf.reduce_sum(dataset.map(lambda x: x * rate).take(1).get_single_element())

        @tf.function
        def train():
            return strategy.run(step)

        with pytest.raises(UnsupportedOpError, match="never ends") as caught:
            train()
    assert caught.value.rule == "TPU501"
    assert __file__ in str(caught.value.place)


def test_tensor_lists_on_the_device_are_compiled():
    def computation(x):
        array = tf.TensorArray(tf.float32, size=3)

        def body(i, a):
            return i + 1, a.write(i, tf.math.xlogy(x, x) + x)

        return tf.while_loop(lambda i, _: i < 3, body, (0, array))[1].stack()

    graph = tf.Graph()
    with graph.as_default():
        ran(computation, [[tf.constant(1.0)]])
    functions = graph.as_graph_def().library.function
    compiled = [function for function in functions if function.attr["_XlaMustCompile"].b]
    assert any(
        node.op in ("While", "StatelessWhile") for library in compiled for node in library.node_def
    )
