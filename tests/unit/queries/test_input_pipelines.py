"""What is done to batches on their way to the TPU."""

from __future__ import annotations

from tests.unit.reading import program
from tpulint.absint.domain.objects import ExternalObject
from tpulint.queries.input_pipelines import calls_behind, calls_of, data_of, last_batches

PROGRAM = """
import tensorflow.compat.v1 as tf

class Rows:
    def read(self, params):
        size = params["batch_size"]
        rows = tf.data.TFRecordDataset("gs://bucket/rows").map(tf.io.parse_tensor).batch(size)
        def set_size(x):
            x.set_shape([size, 4])
            return x
        return rows.map(set_size)

def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, config=tf.estimator.tpu.RunConfig(), train_batch_size=8, eval_batch_size=8
)
estimator.train(Rows().read, max_steps=10)
estimator.evaluate(Rows().read, steps=2)
"""


def test_a_function_that_is_not_read_again_does_what_it_does_elsewhere() -> None:
    """A limit leaves the functions of later pipelines unread, which set no size then."""
    read = program(PROGRAM)
    _, evaluation = read.feeds
    calls = calls_of(read, evaluation)
    calls[:] = [call for call in calls if call.last != "set_shape"]
    (batch,) = last_batches(data_of(read, evaluation))
    assert isinstance(batch, ExternalObject)
    assert "set_shape" in {call.last for call in calls_behind(read, evaluation, batch)}
