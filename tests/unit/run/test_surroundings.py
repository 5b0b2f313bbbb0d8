"""Colab and Kaggle, where their packages are missing."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tpulint.run import surroundings
from tpulint.run.program import UserProgram
from tpulint.run.session import Machine, RunRequest, RunSession
from tpulint.run.surroundings import TPU_VARIABLES, StandIns, prepare
from tpulint.storage.session import PYTHON_VARIABLE, storage_environment


@pytest.fixture(name="stand_ins")
def stand_ins_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIns]:
    for name in TPU_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    before = set(sys.modules)
    stand_ins = prepare(str(tmp_path / "storage"))
    yield stand_ins
    stand_ins.close()
    sys.meta_path.remove(stand_ins)  # type: ignore[arg-type]
    for name in set(sys.modules) - before:
        if name.startswith(("google.colab", "kaggle_", "tensorflow_gcs_config")):
            del sys.modules[name]
    for name in TPU_VARIABLES:
        os.environ.pop(name, None)


@pytest.fixture(name="without_versions")
def without_versions_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "distutils.version", raising=False)


@pytest.mark.usefixtures("without_versions", "stand_ins")
def test_the_versions_of_distutils_are_imported_as_on_colab() -> None:
    is_there = importlib.util.find_spec("distutils") is not None  # not in each Python
    assert ("distutils.version" in sys.modules) == is_there


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_a_program_of_colab_signs_in_and_finds_its_secrets(
    stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    module("google.colab.auth").authenticate_user(project_id="mine")
    userdata = module("google.colab.userdata")
    assert userdata.get("HF_TOKEN") == "secret"
    with pytest.raises(userdata.SecretNotFoundError, match="NONE"):
        userdata.get("NONE")
    module("google.colab.files").download("model.keras")
    assert list(stand_ins.notes()) == [
        "Stand-ins for what is missing here were used: google.colab.auth.authenticate_user, "
        "google.colab.userdata.get, google.colab.files.download"
    ]


def test_what_changes_the_page_of_a_notebook_does_nothing(stand_ins: StandIns) -> None:
    module("google.colab.output").clear(wait=True)
    module("google.colab.output").enable_custom_widget_manager()
    module("google.colab.patches").cv2_imshow(None)
    module("google.colab.data_table").enable_dataframe_formatter()
    module("google.colab.runtime").unassign()
    module("tensorflow_gcs_config").configure_gcs_from_colab_auth(device="TPU:0")
    assert set(stand_ins.used) == {
        "google.colab.output.clear",
        "google.colab.output.enable_custom_widget_manager",
        "google.colab.patches.cv2_imshow",
        "google.colab.data_table.enable_dataframe_formatter",
        "google.colab.runtime.unassign",
        "tensorflow_gcs_config.configure_gcs_from_colab_auth",
    }


def test_what_a_program_only_imports_is_not_listed(stand_ins: StandIns) -> None:
    assert module("google.colab").__path__ == []
    module("kaggle_datasets")
    assert list(stand_ins.notes()) == []


def test_a_program_of_kaggle_finds_its_secrets(
    stand_ins: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_KEY", "secret")
    kaggle_secrets = module("kaggle_secrets")
    client = kaggle_secrets.UserSecretsClient()
    client.set_tensorflow_credential(client.get_gcloud_credential())
    assert client.get_secret("WANDB_KEY") == "secret"
    with pytest.raises(kaggle_secrets.BackendError, match="NONE"):
        client.get_secret("NONE")
    assert list(stand_ins.notes()) == [
        "Stand-ins for what is missing here were used: "
        "kaggle_secrets.UserSecretsClient.get_gcloud_credential, "
        "kaggle_secrets.UserSecretsClient.set_tensorflow_credential, "
        "kaggle_secrets.UserSecretsClient.get_secret"
    ]


def test_a_dataset_of_kaggle_is_a_bucket(stand_ins: StandIns) -> None:
    datasets = module("kaggle_datasets").KaggleDatasets()
    assert datasets.get_gcs_path("flower-classification") == "gs://kaggle-flower-classification"
    assert list(stand_ins.used) == ["kaggle_datasets.KaggleDatasets.get_gcs_path"]
    assert datasets.get_gcs_path() == datasets.get_gcs_path("") == "gs://kaggle-data"
    assert datasets.get_gcs_path("Tpu Getting/Started") == "gs://kaggle-tpu-getting-started"


def test_drive_is_a_folder_while_the_program_runs(stand_ins: StandIns, tmp_path: Path) -> None:
    mountpoint = tmp_path / "content" / "drive"
    drive = module("google.colab.drive")
    drive.mount(str(mountpoint))
    (mountpoint / "MyDrive/model.txt").write_text("kept")
    drive.mount(str(mountpoint), force_remount=True)
    drive.flush_and_unmount()
    stand_ins.close()
    assert not mountpoint.exists()
    assert (tmp_path / "storage/drive/MyDrive/model.txt").read_text() == "kept"


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("own", ["MyDrive", "My Drive", ""])
def test_drive_has_two_names(own: str, tmp_path: Path) -> None:
    """Notebooks use both; a user's files may be in a folder of either name."""
    drive = tmp_path / "storage/drive"
    if own:
        (drive / own).mkdir(parents=True)
    module("google.colab.drive").mount(str(tmp_path / "mounted"))
    (tmp_path / "mounted/MyDrive/model.txt").write_text("kept")
    assert (tmp_path / "mounted/My Drive/model.txt").read_text() == "kept"
    module("google.colab.drive").mount(str(tmp_path / "mounted"), force_remount=True)
    assert sorted(path.name for path in drive.iterdir()) == ["My Drive", "MyDrive"]
    assert (drive / "MyDrive").is_symlink() == (own == "My Drive")


def test_drive_is_in_the_working_directory_too(
    stand_ins: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notebooks that mount `/content/drive` name it as `drive`: they run in `/content`."""
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(surroundings, "COLAB_FOLDER", str(tmp_path / "content"))
    monkeypatch.chdir(tmp_path / "work")
    module("google.colab.drive").mount(str(tmp_path / "content/drive"))
    Path("drive/MyDrive/model.txt").write_text("kept")
    stand_ins.close()
    assert os.listdir() == []
    Path("drive").write_text("mine")
    (tmp_path / "content/drive").symlink_to(tmp_path / "of a run that was killed")
    module("google.colab.drive").mount(str(tmp_path / "content/drive"))
    assert Path("drive").read_text() == "mine"
    assert (tmp_path / "content/drive/My Drive/model.txt").read_text() == "kept"


def test_runs_share_a_drive_until_the_last_one_ends(tmp_path: Path) -> None:
    place = tmp_path / "content/drive"
    folders = [str(tmp_path / name) for name in ("storage", "storage", "other", "other")]
    first, second, other, later = map(StandIns, folders)
    first.mount_drive(str(place))
    second.mount_drive(str(place))
    first.close()
    (place / "MyDrive/model.txt").write_text("kept")
    with pytest.raises(ValueError, match=r"is the Drive of another run, in .*storage/drive: wait"):
        other.mount_drive(str(place))
    other.close()
    second.close()
    assert not os.path.lexists(place)
    place.symlink_to(f"{folders[0]}/drive/.")  # of a run that was killed
    later.mount_drive(str(place))
    assert os.path.realpath(place) == os.path.realpath(f"{folders[3]}/drive")
    later.close()
    place.symlink_to(f"{folders[0]}/drive")  # the user's
    first.mount_drive(str(place))
    first.close()
    assert (place / "MyDrive/model.txt").read_text() == "kept"


def test_drive_takes_no_place_of_files(stand_ins: StandIns, tmp_path: Path) -> None:
    (tmp_path / "drive").mkdir()
    (tmp_path / "drive/file").touch()
    with pytest.raises(ValueError, match="must not already contain files"):
        module("google.colab.drive").mount(str(tmp_path / "drive"))
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="make it a link to"):
        module("google.colab.drive").mount(str(tmp_path / "file/drive"))
    assert (tmp_path / "drive/file").exists()


@pytest.mark.parametrize("storage", ["cloud", "buckets"])
def test_the_cloud_is_left_alone_where_the_user_wants_it(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    for name in (*TPU_VARIABLES, PYTHON_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    script = UserProgram("train.py", is_module=False, arguments=())
    session = RunSession(RunRequest(script, Machine(2, None, 1), None, "text", None, storage))
    with session.open:
        session.surround()
        assert (session.storage is None) == (storage == "cloud")
        assert bool(storage_environment()) == (storage != "cloud")
        assert (PYTHON_VARIABLE in os.environ) == (storage != "cloud")
        # What else belongs to Colab is there in either case.
        module("kaggle_datasets").KaggleDatasets().get_gcs_path("flowers")
        assert (tmp_path / storage / "kaggle-flowers").is_dir() == (storage != "cloud")
    for name in (*TPU_VARIABLES, "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"):
        os.environ.pop(name, None)
    del sys.modules["kaggle_datasets"]


def test_the_tpu_has_the_names_that_the_environment_does_not_give(
    stand_ins: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert os.environ["COLAB_TPU_ADDR"] == "localhost:8470"
    monkeypatch.setenv("TPU_NAME", "mine")
    sys.meta_path.remove(prepare(str(tmp_path)))  # type: ignore[arg-type]
    assert os.environ["TPU_NAME"] == "mine"


def test_a_package_that_is_installed_is_preferred(
    stand_ins: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kaggle_datasets.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert module("kaggle_datasets").real
