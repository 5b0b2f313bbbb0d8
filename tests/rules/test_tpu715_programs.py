"""Programs with TPU715."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import assert_marked


def test_a_comprehension_is_no_loop_that_is_converted(tmp_path: Path) -> None:
    program = """
        import tensorflow as tf

        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        step = tf.function(
            lambda x: [strategy.run(tf.square, args=(x,)) for _ in range(20)]  # error: TPU715
        )
        step(tf.constant(1.0))
    """
    assert_marked(program, tmp_path)
