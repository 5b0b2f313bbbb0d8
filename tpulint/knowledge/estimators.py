"""The sizes of batches that TPUEstimator takes and gives, and to whom.

The facts: tensorflow_estimator/python/estimator/tpu.
"""

from __future__ import annotations

# tpu_estimator.py: the argument with the size of all replicas' batch, by what is done.
BATCH_SIZES = {
    "train": ("train_batch_size", 5),
    "evaluate": ("eval_batch_size", 6),
    "predict": ("predict_batch_size", 7),
}
# tpu_context.py, `batch_size_for_input_fn`: the modes in which an input_fn feeds one core.
PER_CORE = frozenset(["PER_HOST_V2", "PER_SHARD_V1"])
CORES_OF_A_HOST = 8
