"""The contents of a map: lanes, what crosses, variables, and what is folded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.map.drawn import drawn, edge, found, node, of_file
from tests.unit.map.programs import FIT, GRADIENTS, LAYERS, LOOP, MODES, SENT, VARIABLES
from tpulint.map import computation as drawing
from tpulint.map.pictures.model import CLUSTER, INPUT, SEGMENT, ComputationMap, Crossing

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_tensors_cross_with_their_names_and_sizes(tmp_path: Path) -> None:
    map_drawn = drawn(SENT, tmp_path)
    sends = edge(map_drawn, "outside_compilation(log)", "log")
    assert sends is not None
    assert sends.crossings == (
        Crossing("images", "float32 (8, 128)", 4096),
        Crossing("count", "int32 ()", 4),
    )
    returns = edge(map_drawn, "log", "outside_compilation(log)")
    assert returns is not None
    assert len(returns.crossings) == 1


def test_what_the_device_does_is_cut_at_the_calls_of_host_clusters(tmp_path: Path) -> None:
    map_drawn = drawn(SENT, tmp_path)
    assert [part.title.split(":")[0] for part in map_drawn.nodes] == [
        "rewrite",
        "device segment 1",
        "outside_compilation(log)",
        "log",
        "device segment 2",
    ]
    call = node(map_drawn, "outside_compilation(log)")
    assert [line.text for line in call.lines] == ["waits for log"]


def test_a_cluster_that_is_opened_again_is_one_box(tmp_path: Path) -> None:
    map_drawn = drawn(LAYERS, tmp_path)
    boxes = [node for node in map_drawn.nodes if node.kind == CLUSTER]
    assert sorted(box.times for box in boxes) == [1, 2]  # in the loop, and below it


def test_a_loop_is_around_what_is_in_it(tmp_path: Path) -> None:
    map_drawn = drawn(LOOP, tmp_path)
    (region,) = map_drawn.regions
    assert region.title == "loop on the device"
    inside = {node.title.split(":")[0] for node in map_drawn.nodes if node.regions == (region.key,)}
    assert {"outside_compilation(note)", "note"} <= inside
    segments = [node for node in map_drawn.nodes if node.kind == SEGMENT]
    assert [bool(segment.regions) for segment in segments] == [False, True, False]


def test_a_large_program_is_folded_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "FOLDED", 2)
    loop = LOOP.replace("tf.tpu.outside_compilation(note, tf.square(x))", "tf.square(x)")
    map_drawn = drawn(loop, tmp_path)
    assert not map_drawn.regions
    assert map_drawn.left_out[0].startswith("1 body of branches and loops without a host cluster")
    assert [node.title for node in map_drawn.nodes if node.kind == SEGMENT]
    held = drawn(LOOP, tmp_path)
    assert held.regions, "what holds a host cluster is kept"


def test_boxes_beyond_the_most_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MOST", 2)
    map_drawn = drawn(SENT, tmp_path)
    assert len([node for node in map_drawn.nodes if node.kind not in ("entry", "input")]) == 2
    assert map_drawn.left_out == ("2 more boxes: name a function to see its part",)
    keys = {node.key for node in map_drawn.nodes}
    assert {key for edge in map_drawn.edges for key in (edge.source, edge.target)} <= keys


def test_variables_are_shown_with_who_touches_them(tmp_path: Path) -> None:
    map_drawn = drawn(VARIABLES, tmp_path)
    touched = {
        variable.name: {(touch.lane, touch.mode) for touch in variable.touches}
        for variable in map_drawn.variables
    }
    assert touched == {
        "shared": {("device", "write"), ("host", "read")},
        "hosts": {("host", "read")},
        "own": {("device", "read")},
    }
    assert list(touched) == ["shared", "hosts", "own"], "what both touch comes first"


def test_variables_of_the_device_alone_are_counted_where_they_are_many(tmp_path: Path) -> None:
    map_drawn = drawn(
        """
        import tensorflow.compat.v1 as tf

        weights = [tf.get_variable("a", []), tf.get_variable("b", []), tf.get_variable("c", []),
                   tf.get_variable("d", []), tf.get_variable("e", []), tf.get_variable("f", []),
                   tf.get_variable("g", []), tf.get_variable("h", [])]

        def step(x):
            a, b, c, d, e, f, g, h = weights
            return x * a * b * c * d * e * f * g * h

        tf.tpu.rewrite(step, [tf.zeros([])])
        """,
        tmp_path,
    )
    assert len(map_drawn.variables) == 6
    assert map_drawn.left_out == ("2 more variables that only the device touches: g, h",)


def test_a_head_and_a_tail_cluster_are_called_so(tmp_path: Path) -> None:
    map_drawn = drawn(
        """
        import tensorflow.compat.v1 as tf

        def first():
            return tf.constant(1.0)

        def last(x):
            tf.print(x)

        def step(x):
            y = tf.tpu.outside_compilation(first)
            z = tf.square(y + x)
            tf.tpu.outside_compilation(last, z)
            return z

        tf.tpu.rewrite(step, [tf.zeros([])])
        """,
        tmp_path,
    )
    words = {node.title: node.lines[0].text for node in map_drawn.nodes if node.kind == "call"}
    assert words == {
        "outside_compilation(first)": "first runs before the device program",
        "outside_compilation(last)": "nothing waits for last",
    }


def test_input_pipelines_and_what_leaves_by_the_outfeed_are_shown(tmp_path: Path) -> None:
    map_drawn = drawn(
        """
        import tensorflow.compat.v1 as tf

        def input_fn(params):
            data = tf.data.TFRecordDataset("gs://bucket/data").repeat()
            return data.batch(params["batch_size"], drop_remainder=True)

        def host_call_fn(loss):
            return tf.summary.scalar("loss", loss[0])

        def model_fn(features, labels, mode, params):
            loss = tf.reduce_mean(features)
            call = (host_call_fn, [tf.reshape(loss, [1])])
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=call)

        config = tf.estimator.tpu.RunConfig()
        estimator = tf.estimator.tpu.TPUEstimator(
            model_fn, config=config, use_tpu=True, train_batch_size=8)
        estimator.train(input_fn, steps=1)
        """,
        tmp_path,
    )
    pipeline = node(map_drawn, "input pipeline of train")
    assert "TFRecordDataset" in pipeline.lines[-1].text
    assert (
        node(map_drawn, "host_call(host_call_fn)")
        .lines[0]
        .text.startswith("goes through the outfeed")
    )
    assert edge(map_drawn, "host_call(host_call_fn)", "host_call_fn") is not None
    assert map_drawn.title == "model_fn, compiled by a TPUEstimator"


def test_a_computation_that_is_reached_twice_is_shown_once(tmp_path: Path) -> None:
    map_drawn = found(SENT + "\n    build(tf.zeros([4]))\n", tmp_path)
    assert len(map_drawn.program.computations) == 1


def test_what_soft_placement_moves_is_on_the_host(tmp_path: Path) -> None:
    soft = """
        import tensorflow as tf

        tf.config.set_soft_device_placement(True)
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        strategy = tf.distribute.TPUStrategy(resolver)

        @tf.function
        def step():
            loss = tf.zeros([8])
            tf.print(loss)
            return tf.square(loss)

        strategy.run(step)
    """
    map_drawn = drawn(soft, tmp_path)
    call, host = (node for node in map_drawn.nodes if node.title == "print")
    assert (call.lane, host.lane) == ("device", "host")
    assert call.lines[0].text == "has no TPU kernel: soft placement moves it to the host"
    assert host.lines[0].text == "PrintV2"
    sends = map_drawn.edge(call.key, host.key)
    assert sends is not None
    assert sends.crossings == (Crossing("loss", "float32 (8)", 32),)
    hard = drawn(soft.replace("tf.config.set_soft", "# tf.config.set_soft"), tmp_path)
    assert not [node for node in hard.nodes if node.title == "print"]


def test_what_is_given_to_a_computation_has_its_size(tmp_path: Path) -> None:
    inputs = edge(drawn(SENT, tmp_path), "rewrite", "device segment 1")
    assert inputs is not None
    assert inputs.crossings == (Crossing("x", "float32 (4)", 16),)
    replicated = SENT.replace("tf.tpu.rewrite(step, [x])", "tf.tpu.replicate(step, [[x], [x]])")
    inputs = edge(drawn(replicated, tmp_path), "replicate", "device segment 1")
    assert inputs is not None
    assert inputs.crossings == (Crossing("x", "float32 (4)", 16),)


def touches(drawn_map: ComputationMap) -> dict[str, set[tuple[str, str]]]:
    """Return how each variable is touched, by its name."""
    return {
        variable.name: {(touch.mode, touch.how) for touch in variable.touches}
        for variable in drawn_map.variables
    }


def test_training_evaluation_and_prediction_are_maps_of_their_own(tmp_path: Path) -> None:
    train, evaluate = found(MODES, tmp_path).program.computations
    assert train.title == "model_fn, compiled by a TPUEstimator to train"
    assert evaluate.title == "model_fn, compiled by a TPUEstimator to evaluate"
    names = [{node.title for node in drawn_map.nodes} for drawn_map in (train, evaluate)]
    assert {"host_call_fn", "input pipeline of train"} <= names[0]
    assert {"metric_fn", "input pipeline of evaluate"} <= names[1]
    assert not {"metric_fn", "input pipeline of evaluate"} & names[0]
    assert not {"host_call_fn", "input pipeline of train"} & names[1]
    assert touches(train)["w"] == {("read", "matmul"), ("write", "minimize")}
    assert touches(evaluate) == {"w": {("read", "matmul")}}


@pytest.mark.parametrize(
    ("calls", "modes"),
    [("estimator.predict(input_fn)", ["predict"]), ("run(estimator)", ["train", "evaluate"])],
)
def test_the_modes_are_those_that_are_run(tmp_path: Path, calls: str, modes: list[str]) -> None:
    """Who else runs the estimator may train and evaluate."""
    text = MODES.partition("    estimator.train(")[0] + f"    {calls}\n"
    titles = [computation.title for computation in found(text, tmp_path).program.computations]
    assert [title.rpartition(" ")[2] for title in titles] == modes


def test_metrics_of_an_evaluation_are_not_in_the_map_of_training(tmp_path: Path) -> None:
    """A model_fn may return them in every mode; a TPUEstimator runs them to evaluate."""
    text = """
        import tensorflow.compat.v1 as tf

        def metric_fn(value):
            return {"mean": tf.metrics.mean(value)}

        def model_fn(features, labels, mode, params):
            loss = tf.reduce_mean(features * tf.get_variable("w", []))
            step = tf.train.get_global_step()
            rate = 1.0 / tf.cast(step, tf.float32)
            optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate))
            return tf.estimator.tpu.TPUEstimatorSpec(
                mode, loss=loss, train_op=optimizer.minimize(loss, step),
                eval_metrics=(metric_fn, [net(loss) if params else loss]))

        config = tf.estimator.tpu.RunConfig()
        estimator = tf.estimator.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
        estimator.train(None)
        estimator.evaluate(None)
    """
    train, evaluate = found(text, tmp_path).program.computations
    assert not [part.title for part in train.nodes if "metric" in part.title]
    sent = edge(evaluate, "eval_metrics(metric_fn)", "metric_fn")
    assert sent is not None
    assert len(sent.crossings) == 1, "an argument with two values is one tensor"
    (step,) = [part for part in train.variables if part.name == "global_step"]
    assert [(touch.mode, touch.times) for touch in step.touches] == [("write", 1), ("read", 1)]


def test_a_model_of_layers_has_no_weights_of_its_own(tmp_path: Path) -> None:
    """They are those of its layers, and so is what is written."""
    model = """
        inputs = tf.keras.Input((4,))
        dense = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(tf.keras.layers.ReLU()(inputs)))
        dropout"""
    text = GRADIENTS.replace("        dense, dropout = tf.keras.layers.Dense(4),", model[1:] + " =")
    assert touches(drawn(text, tmp_path)) == {
        "Dense.weights": {("read", "Dense"), ("write", "apply_gradients")},
        "SGD.iterations": {("write", "apply_gradients")},
    }


NORMALIZED = """
    import tensorflow as tf

    strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(""))
    with strategy.scope():
        norm = tf.keras.layers.BatchNormalization()
        dense = tf.keras.layers.Dense(2, kernel_regularizer="l2")
        plain = tf.keras.layers.Dense(2, kernel_regularizer=None)
        inputs = tf.keras.Input((2,))
        functional = tf.keras.Model(inputs, norm(dense(inputs)))
        sequential = tf.keras.Sequential([dense, norm])

    class Block(tf.keras.layers.Layer):
        def call(self, x):
            return norm(x)

    block = Block()

    def replica_fn(x):
        return {result}

    @tf.function
    def step(x):
        strategy.run(replica_fn, args=(x,))

    step(tf.constant([[2.0, 3.0]]))
"""
READS = ("read", "BatchNormalization")
WRITES = ("write", "BatchNormalization")


@pytest.mark.parametrize(
    ("result", "variable", "shown"),
    [
        ("norm(x, training=True)", "BatchNormalization.weights", {READS, WRITES}),
        ("norm(x, True)", "BatchNormalization.weights", {READS, WRITES}),
        ("norm(x)", "BatchNormalization.weights", {READS}),
        ("norm(x, training=False)", "BatchNormalization.weights", {READS}),
        (
            "block(x, training=True)",
            "BatchNormalization.weights",
            {READS, ("read or write", "BatchNormalization")},
        ),
        ("functional(x, training=True)", "BatchNormalization.weights", {READS, WRITES}),
        ("sequential(x, training=True)", "Sequential.weights", {("read", "Sequential"), WRITES}),
        ("sequential(x)", "Sequential.weights", {("read", "Sequential")}),
        ("(dense(x), dense.losses)", "Dense.weights", {("read", "Dense"), ("read", "losses")}),
        ("(plain(x), plain.losses)", "Dense.weights", {("read", "Dense")}),
        (
            "(sequential(x), sequential.losses)",
            "Sequential.weights",
            {("read", "Sequential"), ("read", "losses")},
        ),
        (
            "(functional(x), functional.losses)",
            "Dense.weights",
            {("read", "Dense"), ("read", "losses")},
        ),
        ("(norm(x), norm.losses)", "BatchNormalization.weights", {READS}),
    ],
)
def test_averages_are_written_and_regularizers_read(
    result: str, variable: str, shown: set[tuple[str, str]], tmp_path: Path
) -> None:
    assert touches(drawn(NORMALIZED.format(result=result), tmp_path))[variable] == shown


def test_fit_has_its_input_pipeline_and_writes_the_weights(tmp_path: Path) -> None:
    map_drawn = drawn(FIT, tmp_path)
    assert map_drawn.title == "train_step, compiled by fit"
    arrow = " \N{RIGHTWARDS ARROW} "
    (steps,) = node(map_drawn, "input pipeline of fit").lines
    assert steps.text == arrow.join(["from_tensor_slices", "shuffle", "batch"])
    assert touches(map_drawn) == {"Sequential.weights": {("read", "Sequential"), ("write", "fit")}}


def test_each_step_of_fit_has_its_own_input_pipeline(tmp_path: Path) -> None:
    text = FIT.replace(
        "drop_remainder=True))", "drop_remainder=True), validation_data=data.batch(4))"
    )
    maps = found(text, tmp_path).program.computations
    pipelines = {
        drawn_map.title: [
            (node.title, node.lines[0].text) for node in drawn_map.nodes if node.kind == INPUT
        ]
        for drawn_map in maps
    }
    arrow = " \N{RIGHTWARDS ARROW} "
    assert pipelines == {
        "train_step, compiled by fit": [
            ("input pipeline of fit", arrow.join(["from_tensor_slices", "shuffle", "batch"]))
        ],
        "test_step, compiled by fit": [
            ("input pipeline of evaluate", arrow.join(["from_tensor_slices", "batch"]))
        ],
    }


def test_a_long_pipeline_is_in_order_and_applies_by_name(tmp_path: Path) -> None:
    steps = "apply(tf.data.experimental.map_and_batch(len, 8))" + ".prefetch(1)" * 6
    text = FIT.replace("data.shuffle(4).batch(8, drop_remainder=True)", f"data.shuffle(4).{steps}")
    (line,) = node(drawn(text, tmp_path), "input pipeline of fit").lines
    names = line.text.split(" \N{RIGHTWARDS ARROW} ")
    assert names == ["...", "shuffle", "map_and_batch", *["prefetch"] * 6]


def test_what_has_no_weights_is_no_variable_and_zip_no_operation(tmp_path: Path) -> None:
    map_drawn = drawn(GRADIENTS, tmp_path)
    assert touches(map_drawn) == {
        "Dense.weights": {("read", "Dense"), ("write", "apply_gradients")},
        "SGD.iterations": {("write", "apply_gradients")},
    }
    details = [line.detail for node in map_drawn.nodes for line in node.lines]
    assert any("MeanSquaredError, compute_average_loss" in detail for detail in details)
    assert not [detail for detail in details if "zip" in detail or "__call__" in detail]


def test_layers_that_are_functions_have_weights() -> None:
    train = of_file(EXAMPLES / "estimator_host_call.py").program.computations[0]
    assert touches(train) == {
        "conv2d.weights": {("read", "conv2d"), ("write", "minimize")},
        "dense.weights": {("read", "dense"), ("write", "minimize")},
        "global_step": {
            ("read", "exponential_decay"),
            ("read", "reshape"),
            ("write", "minimize"),
        },
    }


def test_a_function_makes_weights_that_stay_as_they_are(tmp_path: Path) -> None:
    map_drawn = drawn(
        """
        import tensorflow.compat.v1 as tf

        def step(x):
            hidden = tf.layers.dense(x, 4, trainable=False)
            loss = tf.reduce_sum(tf.layers.conv1d(hidden, 4, 3))
            return tf.train.GradientDescentOptimizer(0.1).minimize(loss)

        tf.tpu.rewrite(step, [tf.zeros([4, 8, 2])])
        """,
        tmp_path,
    )
    assert touches(map_drawn) == {
        "dense.weights": {("read", "dense")},
        "conv1d.weights": {("read", "conv1d"), ("write", "minimize")},
    }


@pytest.mark.parametrize(
    ("example", "not_operations"),
    [
        ("strategy_loop.py", "global_batch_size"),  # `self.global_batch_size` came from a flag
        ("estimator_host_call.py", "as_default"),
        ("estimator_host_call.py", "record_if"),
    ],
)
def test_an_attribute_and_a_scope_are_no_operations(example: str, not_operations: str) -> None:
    program = of_file(EXAMPLES / example).program
    details = [
        line.detail
        for computation in program.computations
        for node in computation.nodes
        for line in node.lines
    ]
    assert any("reduce_mean" in detail or "compute_average" in detail for detail in details)
    assert not [detail for detail in details if not_operations in detail]
