"""What `tpulint run --device` counts: the memory and the FLOPs of a step on one core."""

from __future__ import annotations

import runpy
from pathlib import Path
from textwrap import dedent
from typing import Any

import keras
import pytest
import tensorflow as tf

from tpulint.hardware import DEVICES
from tpulint.run.cost import StepCost, cost_lines, cost_of
from tpulint.runtime.extract.bodies import body_of_function
from tpulint.runtime.run_statistics import running
from tpulint.runtime.schedule.work import Product, SizedTensor, StepWork, work_of_region

PROGRAM = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""


def work_of_step(code: str, folder: Path) -> StepWork:
    path = folder / "program.py"
    path.write_text(PROGRAM + dedent(code), encoding="utf-8")
    with running(2, None, costs=True) as watch:
        runpy.run_path(str(path), run_name="__main__")
    (work,) = watch.works()
    return work


def work_of_function(
    function: Any, *shapes: tuple[int | None, ...], arguments: Any = ()
) -> StepWork:
    """Return the work of a function whose parameters have `shapes`, and in the end `arguments`."""
    specs = [tf.TensorSpec(shape) for shape in shapes]
    graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
    region = body_of_function(graph)
    return work_of_region(region, dict(zip(region.inputs, arguments)))


TRAINING = """
with strategy.scope():
    weights = tf.Variable(tf.ones([256, 128]), name="weights")
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build([weights])


def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.relu(x @ weights))
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss


@tf.function(input_signature=[tf.TensorSpec([SIZE, 256])])
def step(x):
    return strategy.run(train, args=(x,))


step(tf.ones([64, 256]))
"""


@pytest.mark.parametrize("size", ["64", "None"])
def test_the_work_of_a_training_step(size: str, tmp_path: Path) -> None:
    work = work_of_step(TRAINING.replace("SIZE", size), tmp_path)
    forward, backward = work.products
    assert (forward.type, forward.rows, forward.depth, forward.columns) == ("MatMul", 64, 256, 128)
    assert (backward.rows, backward.depth, backward.columns) == (256, 64, 128)
    assert work.flops == 2 * (2 * 64 * 256 * 128)
    assert forward.bytes == 4 * (64 * 256 + 256 * 128 + 64 * 128)
    # AutoGraph keeps what it has converted, and so the folder of a program with the same code.
    assert str(forward.place).endswith(f"program.py:{PROGRAM.count(chr(10)) + 10}")
    assert [sized.shape for sized in work.gradients] == [(256, 128)]
    assert [sized.shape for sized in work.variables if sized.shape] == [(256, 128)]
    assert [sized.shape for sized in work.slots if sized.shape] == [(256, 128)] * 2
    assert [sized.shape for sized in work.inputs if sized.shape] == [(64, 256)]
    assert {sized.shape for sized in work.kept} == {(64, 128)}
    assert not work.unknown_shapes
    assert not work.uncounted_loops


def test_a_loop_counts_as_often_as_it_runs() -> None:
    def loop(x: tf.Tensor) -> Any:
        return tf.while_loop(
            lambda i, _: i < 7, lambda i, y: (i + 1, y @ y), [0, x], maximum_iterations=5
        )

    work = work_of_function(loop, (16, 16))
    assert [product.times for product in work.products] == [5]
    assert work.flops == 5 * 2 * 16**3


def test_a_loop_over_a_range_counts_as_often_as_it_runs() -> None:
    @tf.function
    def loop(x: tf.Tensor) -> Any:
        for _ in tf.range(3, 12, 2):
            for _ in tf.range(4, 0, -1):
                x = x @ x
        return x

    work = work_of_function(loop, (16, 16))
    assert [product.times for product in work.products] == [5 * 4]
    assert not work.uncounted_loops


def test_the_gradient_of_a_loop_counts_as_often() -> None:
    def gradient(x: tf.Tensor) -> Any:
        last = tf.while_loop(lambda i, _: i < 7, lambda i, y: (i + 1, y @ x), [0, x])[1]
        return tf.gradients(last, x)

    assert work_of_function(gradient, (16, 16)).flops == 3 * 7 * 2 * 16**3


def test_a_loop_that_depends_on_data_counts_once_and_is_said() -> None:
    def loop(x: tf.Tensor) -> Any:
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: (y @ y,), [x])

    work = work_of_function(loop, (16, 16))
    assert (work.flops, work.uncounted_loops) == (2 * 16**3, 1)


LOOPS = """
@tf.function
def step(x, limit):
    def search(x, limit):
        def body(size, y):
            return size * 2.0, y @ y

        return tf.while_loop(CONDITION, body, [1.0, x], maximum_iterations=MAXIMUM)[0]

    return strategy.run(search, args=(x, limit))


x = tf.zeros([16, 16])
results = [strategy.experimental_local_results(step(x, n))[1] for n in tf.constant([4.0, 200.0])]
assert [float(result) for result in results] == [4.0, 256.0]
"""


@pytest.mark.parametrize("maximum", ["None", "20"])
def test_a_loop_that_depends_on_data_counts_as_often_as_it_ran(
    maximum: str, tmp_path: Path
) -> None:
    code = LOOPS.replace("CONDITION", "lambda size, _: size < limit").replace("MAXIMUM", maximum)
    work = work_of_step(code, tmp_path)
    assert [product.times for product in work.products] == [(2 + 8) // 2]
    assert (work.measured_loops, work.uncounted_loops) == (1, 0)
    (line,) = [line for line in cost_lines(cost(work), DEVICES["v3"]) if "data" in line]
    assert line == "  1 loop that depends on data counts as often as it ran, on average."


def test_a_loop_in_a_loop_that_depends_on_data_counts_once(tmp_path: Path) -> None:
    code = LOOPS.replace("CONDITION", "lambda size, _: size < limit").replace("MAXIMUM", "None")
    nested = code.replace("return strategy.run(search", "return strategy.run(twice").replace(
        "    return strategy",
        """    def twice(x, limit):
        for _ in tf.range(2):
            size = search(x, limit)
        return size

    return strategy""",
    )
    work = work_of_step(nested, tmp_path)
    assert [product.times for product in work.products] == [2]
    assert (work.measured_loops, work.uncounted_loops) == (0, 1)


def test_the_gradient_of_a_loop_that_depends_on_data_counts_as_often(tmp_path: Path) -> None:
    code = """
    @tf.function
    def step(x, limit):
        def train(x, limit):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.while_loop(
                    lambda size, _: size < limit,
                    lambda size, y: (size * 2.0, y @ x),
                    [1.0, x],
                    maximum_iterations=9,
                )[1]
            return tape.gradient(y, x)

        return strategy.run(train, args=(x, limit))


    step(tf.ones([16, 16]), 32.0)
    """
    work = work_of_step(code, tmp_path)
    assert work.flops == 3 * 5 * 2 * 16**3
    assert (work.measured_loops, work.uncounted_loops) == (2, 0)


def test_a_loop_with_a_host_cluster_counts_as_often_as_it_ran(tmp_path: Path) -> None:
    code = """
    @tf.function
    def step(x, limit):
        def search(x, limit):
            size = 1.0
            while size < limit:
                tf.compat.v1.tpu.outside_compilation(tf.print, size)
                x, size = x @ x, size * 2.0
            return x

        return strategy.run(search, args=(x, limit))


    step(tf.ones([16, 16]), 8.0)
    """
    work = work_of_step(code, tmp_path)
    assert [product.times for product in work.products] == [3]


def test_the_larger_branch_counts() -> None:
    def branches(x: tf.Tensor) -> Any:
        return tf.cond(x[0, 0] > 0.0, lambda: x @ x @ x, lambda: x @ x)

    assert work_of_function(branches, (16, 16)).flops == 2 * 2 * 16**3


def test_open_sizes_are_inferred_from_those_of_the_inputs() -> None:
    def pooled(x: tf.Tensor, kernel: tf.Tensor) -> Any:
        convolved = tf.function(tf.nn.conv2d)(x, kernel, 2, "SAME")
        return tf.reshape(convolved, [tf.shape(x)[0], -1]) @ tf.ones([16 * 16 * 8, 10])

    work = work_of_function(
        pooled, (None, 32, 32, 3), (5, 5, 3, 8), arguments=((4, 32, 32, 3), (5, 5, 3, 8))
    )
    convolution, product = sorted(work.products, key=lambda product: product.type)
    assert convolution.flops == 2 * 4 * 16 * 16 * 5 * 5 * 3 * 8
    assert product.flops == 2 * 4 * 16 * 16 * 8 * 10


@pytest.mark.parametrize(
    ("equation", "shapes", "sizes"),
    [
        ("abc,cde->abde", ((2, 3, 4), (4, 5, 6)), (1, 6, 4, 30)),
        ("bqhd,bkhd->bhqk", ((2, 8, 3, 4), (2, 9, 3, 4)), (6, 8, 4, 9)),
        ("...x,xy->...y", ((2, 3, 4), (4, 5)), (6, 1, 4, 5)),
    ],
)
def test_the_sizes_of_an_einsum(equation: str, shapes: Any, sizes: Any) -> None:
    (product,) = work_of_function(
        lambda *x: tf.raw_ops.Einsum(inputs=x, equation=equation), *shapes
    ).products
    assert (product.batch, product.rows, product.depth, product.columns) == sizes


def test_a_reshape_is_listed_if_it_pads_what_it_takes() -> None:
    def shapes(x: tf.Tensor, small: tf.Tensor) -> Any:
        same = tf.reshape(x, [512, 2048])
        return tf.reshape(same, [524288, 2]), tf.reshape(small, [8192, 4])

    work = work_of_function(shapes, (1024, 1024), (8192, 1, 4))
    assert [sized.shape for sized in work.tensors] == [(524288, 2)]
    assert not work.kept


class Transformer(keras.Model):
    """The encoder of BERT and ViT: self-attention and two dense layers, `layers` times."""

    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        zeros = {"kernel_initializer": "zeros"}  # random numbers take seconds
        self.attention = [
            keras.layers.MultiHeadAttention(heads, width // heads, **zeros) for _ in range(layers)
        ]
        self.wide = [keras.layers.Dense(4 * width, **zeros) for _ in range(layers)]
        self.narrow = [keras.layers.Dense(width, **zeros) for _ in range(layers)]

    def call(self, x: Any) -> Any:
        for attention, wide, narrow in zip(self.attention, self.wide, self.narrow):
            x = attention(x, x)
            x = narrow(wide(x))
        return x


def bert() -> tuple[Any, tuple[int, ...]]:
    return Transformer(12, 768, 12), (1, 128, 768)


def vision_transformer() -> tuple[Any, tuple[int, ...]]:
    patches = keras.layers.Conv2D(768, 16, 16)
    encoder = Transformer(12, 768, 12)
    image = keras.Input((224, 224, 3))
    words = keras.layers.Reshape((196, 768))(patches(image))
    # The token of the class is one more.
    words = keras.layers.ZeroPadding1D((1, 0))(words)
    return keras.Model(image, keras.layers.Dense(1000)(encoder(words)[:, 0])), (1, 224, 224, 3)


def recurrent() -> tuple[Any, tuple[int, ...]]:
    return keras.Sequential([keras.layers.LSTM(512)]), (1, 100, 256)


# Papers count a multiplication with its addition as one operation, unless they say otherwise.
PUBLISHED = {
    "ResNet-50": (
        lambda: (keras.applications.ResNet50(weights=None), (1, 224, 224, 3)),
        2 * 3.8e9,
        "He et al. 2016, Deep Residual Learning, table 1",
    ),
    "EfficientNet-B0": (
        lambda: (keras.applications.EfficientNetB0(weights=None), (1, 224, 224, 3)),
        2 * 0.39e9,
        "Tan and Le 2019, EfficientNet, table 2",
    ),
    "BERT-base": (bert, 22.5e9, "Sun et al. 2020, MobileBERT, table 4: 128 words"),
    "ViT-B/16": (
        vision_transformer,
        2 * 17.5e9,
        "Liu et al. 2021, Swin Transformer, table 1: DeiT-B, which is the same network",
    ),
    "LSTM": (
        recurrent,
        2 * 100 * 4 * (512 * 512 + 256 * 512),
        "Sak et al. 2014, Long Short-Term Memory, section 2: an operation a weight and step",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_flops_of_a_model_are_the_published_ones(name: str) -> None:
    build, published, source = PUBLISHED[name]
    model, shape = build()
    work = work_of_function(lambda x: model(x, training=False), shape)
    assert work.flops == pytest.approx(published, rel=0.05), source
    assert not work.uncounted_loops


def tensor(*shape: int, name: str = "tensor") -> SizedTensor:
    return SizedTensor(name, "float32", shape, "train.py:3")


def cost(work: StepWork, device: str = "v3") -> StepCost:
    return cost_of(work, DEVICES[device], lambda place: place)


def test_a_step_that_does_not_fit_says_what_would_help() -> None:
    large = [tensor(2**20, 2**10) for _ in range(3)]  # 4 GB each
    hidden = [tensor(2**22, 64, name="hidden")]
    work = StepWork("train.py:9", variables=large, slots=large * 2, kept=hidden, tensors=hidden)
    lines = list(cost_lines(cost(work), DEVICES["v3"]))
    assert lines[0].startswith(
        "Cost of a step of train.py:9, on a core of a v3 (16 GB, 61.5 TFLOPs/s"
    )
    assert lines[1] == "  DOES NOT FIT: needs at least 36 GB of 16 GB"
    helps = [line for line in lines if line.startswith(("    1.", "    2."))]
    assert helps == [
        "    1. an optimizer without slots, or with factored ones: saves up to 24 GB",
        "    2. give float32[4194304,64] a last dimension of a multiple of 128, at train.py:3: "
        "saves up to 1 GB",
    ]
    (row,) = (line.split() for line in lines if "float32[4194304,64]  " in line)
    assert row[1:] == ["1", "GB", "1", "GB", "2", "GB", "train.py:3", "(hidden)"]
    assert cost(work, "v5p").fits


def test_the_padding_of_products_depends_on_the_device() -> None:
    product = Product("MatMul", "dense/MatMul", "train.py:3", 1, 64, 100, 200, 1.0, 2)
    small, large = (cost(StepWork(products=[product]), device) for device in ("v3", "v6e"))
    assert small.flops == large.flops == 2 * 2 * 64 * 100 * 200
    assert small.padded_flops == 2 * 2 * 64 * 128 * 256
    assert large.padded_flops == 2 * 2 * 64 * 256 * 256
    alone = product._replace(type="DepthwiseConv2dNative", on_matrix_unit=False)
    assert cost(StepWork(products=[alone])).padded_flops == alone.flops
