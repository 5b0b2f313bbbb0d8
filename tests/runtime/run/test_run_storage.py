"""Programs that live in buckets, under `tpulint run`, without network and credentials.

Those of `in_buckets` are as users write them, and run as they are.
"""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from tests.runtime.run.command import ROOT, tpulint
from tpulint.runtime import emulated_tpu

GALLERYS = ROOT / "examples" / "guide_distributed_keras.py"
PROGRAMS = Path(__file__).parent / "in_buckets"
LOOP, NOTEBOOK = "loop_resumes_in_bucket.py", "colab_and_kaggle.ipynb"
HAS_KERAS_3 = tf.keras.__version__ >= "3"

# A program that runs the loop again, and whose server is killed.
AGAIN = """\
import runpy
import threading
import time

import psutil
import tensorflow as tf

runpy.run_path("loop_resumes_in_bucket.py")
missing = tf.data.TFRecordDataset("gs://my-data/none.tfrecord")
reader = threading.Thread(target=lambda: list(missing))
reader.start()
reader.join()
for server in psutil.Process().children():
    server.kill()
start = time.monotonic()
try:
    tf.io.read_file("gs://my-models/loop/latest")
finally:
    print("gives up soon:", time.monotonic() - start < 60)
"""


def test_a_second_run_goes_on_from_the_checkpoint_of_the_first(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / LOOP, tmp_path)
    first = tpulint(tmp_path, "run", "--replicas", "2", LOOP, alone=True)
    assert first.returncode == 0, first.stderr
    names = [f"gs://my-models/loop/checkpoints/ckpt-{number}" for number in (4, 5)]
    notes = ["['step 5', '']", "['step 5', 'step 10', '']"]
    assert first.stdout == f"starts at 0\n{notes[0]}\nends at 5 {names}\n"
    models = next(line for line in first.stderr.splitlines() if line.startswith("gs://my-models: "))
    assert "; 4 of 5 steps waited for it, " in models  # for the checkpoint before
    folder = tmp_path / ".tpulint_storage"
    assert [path.name for path in folder.iterdir() if path.name[0] != "."] == ["my-models"]
    (tmp_path / "again.py").write_text(AGAIN)
    second = tpulint(tmp_path, "run", "--replicas", "2", "again.py")
    assert second.stdout.startswith(f"starts at 5\n{notes[1]}\nends at 10 "), second.stderr
    assert "NotFoundError" in second.stderr
    place = ".tpulint_storage/my-data/none.tfrecord"
    output = f"copy a sample to {place}, or use --cloud-reads"
    assert f"gs://my-data/none.tfrecord is not in .tpulint_storage: {output}" in second.stderr
    assert second.returncode == 1
    assert second.stdout.endswith("gives up soon: True\n")
    assert "retry attempts failed" in second.stderr
    assert "was ended by signal 9 before the program did" in second.stderr
    assert (folder / "my-models/loop/notes.txt").read_text() == "step 5\nstep 10\n"


def test_a_notebook_of_colab_and_kaggle_runs(tmp_path: Path) -> None:
    shutil.copy(PROGRAMS / NOTEBOOK, tmp_path)
    done = tpulint(tmp_path, "run", "--replicas", "2", "--storage", "buckets", NOTEBOOK)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["REPLICAS: 2", "True"]
    assert [line for line in lines if line.startswith("Epoch")] == ["Epoch 1/2", "Epoch 2/2"]
    assert lines[-1] == "trained"
    assert (tmp_path / "buckets/kaggle-numbers/train.tfrecord").is_file()
    assert (
        "Stand-ins for what is missing here were used: google.colab.auth.authenticate_user, "
        "kaggle_datasets.KaggleDatasets.get_gcs_path\n"
    ) in done.stderr


def test_a_model_is_trained_and_kept_in_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Keras 3, or before that by a TPUEstimator, which later releases do not have.

    Keras 2 runs the gallery's program here, and writes its own format. Keras 3: test_gallery.py.
    """
    name = "keras_in_bucket.py" if HAS_KERAS_3 else "estimator_in_bucket.py"
    shutil.copy(PROGRAMS / name, tmp_path)
    done = tpulint(tmp_path, "run", "--replicas", "2", "--report", "json", name)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stderr[done.stderr.index("\n{\n") :])
    uses = {use["bucket"]: use for use in report["storage"]}
    folder = tmp_path / ".tpulint_storage/my-models"
    if HAS_KERAS_3:
        assert done.stdout.count("Epoch ") == 2
        filenames = ["best.weights.h5", "last.weights.h5", "model.keras"]
        assert done.stdout.endswith(f"(1, 2)\n{filenames}\n")
        assert all((folder / "digits" / name).is_file() for name in filenames)
        assert uses["my-data"]["objects_read"] == uses["my-data"]["objects_written"] == 2
        assert uses["my-models"]["steps_waited"] >= 1  # for the model that the first epoch writes
    else:
        assert "'global_step': 10" in done.stdout
        (exported,) = (folder / "exported").glob("*/saved_model.pb")
        assert f"gs://my-models/exported/{exported.parent.name}" in done.stdout
        assert (folder / "estimator/model.ckpt-10.index").is_file()
        assert uses["my-models"]["steps_waited"] >= 1  # for the checkpoint of the first step
        options = ["--folder", "gs://my-bucket/training", "--steps", "1", "--epochs", "1"]
        monkeypatch.setattr(sys, "argv", [str(GALLERYS), *options])
        with emulated_tpu(2, storage=str(tmp_path)):
            runpy.run_path(str(GALLERYS), run_name="__main__")
        assert (tmp_path / "my-bucket/training/epoch_1.index").is_file()
