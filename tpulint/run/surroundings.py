"""What Colab and Kaggle have and this machine has not, for programs that were written there.

A stand-in is imported only where the real package is missing. The run's report lists those that a
program has called.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# The TPU's names, where the environment does not give it others: programs compose its address of
# one, or look whether they are there. A pod's hosts are at such an address.
TPU_VARIABLES = {"COLAB_TPU_ADDR": "localhost:8470", "TPU_NAME": "tpulint"}


COLAB_FOLDER = "/content"


class StandIns:
    """The stand-ins of a run, whose files are in `folder`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.used: dict[str, None] = {}  # the functions that the program has called, by name
        self._links: list[str] = []
        self._mounted: int | None = None
        """Drive's folder, opened and locked: other runs see that this one uses it."""
        self._modules: dict[str, dict[str, Any]] = {
            "google": {},
            "google.colab": {},
            "google.colab.auth": {"authenticate_user": self._nothing},
            "google.colab.drive": {"mount": self.mount_drive, "flush_and_unmount": self._nothing},
            "google.colab.data_table": self._of_the_page(
                "enable_dataframe_formatter", "disable_dataframe_formatter"
            ),
            "google.colab.files": {"download": self._nothing, "upload": self._nothing_uploaded},
            "google.colab.output": self._of_the_page(
                "clear", "enable_custom_widget_manager", "disable_custom_widget_manager"
            ),
            "google.colab.patches": self._of_the_page("cv2_imshow"),
            "google.colab.runtime": self._of_the_page("unassign"),
            "google.colab.userdata": {
                "get": self._secret,
                "SecretNotFoundError": SecretNotFoundError,
                "NotebookAccessError": NotebookAccessError,
            },
            "kaggle_datasets": {
                "KaggleDatasets": self._class_of(
                    "kaggle_datasets.KaggleDatasets", get_gcs_path=self._kaggle_bucket
                )
            },
            "kaggle_secrets": {
                "BackendError": BackendError,
                "UserSecretsClient": self._class_of(
                    "kaggle_secrets.UserSecretsClient",
                    get_secret=self._kaggle_secret,
                    get_gcloud_credential=self._nothing,
                    set_tensorflow_credential=self._nothing,
                ),
            },
            # Colab has it for the TPUs of its old runtimes.
            "tensorflow_gcs_config": {
                "configure_gcs": self._nothing,
                "configure_gcs_from_colab_auth": self._nothing,
            },
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a stand-in; Python asks for what nobody else has."""
        if name not in self._modules:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self._modules)
        return ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        for function, work in self._modules[name].items():
            is_class = isinstance(work, type)
            vars(module)[function] = work if is_class else self._noting(f"{name}.{function}", work)

    def _noting(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the work, and notes that it was called."""

        def function(*args: Any, **kwargs: Any) -> Any:
            self.used[name] = None
            return work(*args, **kwargs)

        function.__name__ = name.rpartition(".")[2]
        return function

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing: there is nobody to sign in, and the files are here."""

    def _of_the_page(self, *functions: str) -> dict[str, Callable[..., Any]]:
        """Return functions that change the notebook's page, of which there is none."""
        return dict.fromkeys(functions, self._nothing)

    def _nothing_uploaded(self, *_: Any, **__: Any) -> dict[str, bytes]:
        """Return the uploaded files: nobody is there to choose some."""
        return {}

    def _secret(self, key: str) -> str:
        """Return a secret of the notebook, which is an environment variable here."""
        if key not in os.environ:
            raise SecretNotFoundError(f"Secret {key} does not exist: set the environment variable")
        return os.environ[key]

    def _kaggle_secret(self, label: str) -> str:
        """Return a secret that the user added to the notebook: an environment variable here."""
        if label not in os.environ:
            raise BackendError(f"No user secrets exist for {label}: set the environment variable")
        return os.environ[label]

    def mount_drive(self, mountpoint: str, *_: Any, **__: Any) -> None:
        """Let the mount point be a link to the folder `drive`; it is removed with the run."""
        drive = os.path.join(self.folder, "drive")
        make_drive(drive)
        if self._mounted is None:
            self._mounted = os.open(drive, os.O_RDONLY)
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._mounted, fcntl.LOCK_SH)
        place = os.path.abspath(mountpoint)
        self._link(place, drive, mountpoint)
        folder, name = os.path.split(place)
        # A notebook of Colab runs in /content, and may name the folder relative to that.
        if folder == COLAB_FOLDER and (_is_ours(name) or not os.path.lexists(name)):
            self._link(os.path.abspath(name), drive, name)

    def _link(self, place: str, drive: str, named: str) -> None:
        """Let `place`, which the program calls `named`, be a link to Drive."""
        is_ours = _is_ours(place)
        if os.path.realpath(place) == os.path.realpath(drive):
            if is_ours:  # another run made it, and the last one removes it
                self._links.append(place)
            return
        if is_ours and _is_in_use(place):
            raise ValueError(
                f"{named} is the Drive of another run, in {os.path.realpath(place)}: wait until it "
                "ends, or use its --storage"
            )
        if is_ours or (os.path.islink(place) and not os.path.exists(place)):
            os.unlink(place)  # of a run that was killed
        if os.path.isdir(place) and not os.path.islink(place) and not os.listdir(place):
            os.rmdir(place)
        if os.path.lexists(place):
            raise ValueError(f"Mountpoint must not already contain files: {named}")
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(drive + _OURS, place)
        except OSError as error:
            if os.path.islink(place):  # another run was faster
                return self._link(place, drive, named)
            raise OSError(
                f"{named} cannot be made here ({error.strerror}): make it a link to {drive}"
            ) from None
        self._links.append(place)

    def _class_of(self, name: str, **methods: Callable[..., Any]) -> Any:
        """Return a class with these methods, whose calls are noted."""
        noting = {
            method: staticmethod(self._noting(f"{name}.{method}", work))
            for method, work in methods.items()
        }
        return type(name.rpartition(".")[2], (), noting)

    def _kaggle_bucket(self, name: str | None = None) -> str:
        """Return the address of the bucket of a dataset: on Kaggle, it exists."""
        words = re.sub(r"[^a-z0-9._-]+", "-", (name or "data").lower()).strip("-._")
        bucket = f"kaggle-{words or 'data'}"
        with contextlib.suppress(OSError):
            os.makedirs(os.path.join(self.folder, bucket), exist_ok=True)
        return f"gs://{bucket}"

    def close(self) -> None:
        """Remove the links to the folder, unless another run uses it, too."""
        if self._mounted is None:
            return
        with contextlib.suppress(OSError):
            fcntl.flock(self._mounted, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for place in self._links:
                with contextlib.suppress(OSError):
                    if os.path.islink(place):
                        os.unlink(place)
        os.close(self._mounted)
        self._mounted = None
        self._links = []

    def notes(self) -> Iterator[str]:
        if self.used:
            yield f"Stand-ins for what is missing here were used: {', '.join(self.used)}"


_OURS = "/."  # how the target of a link to Drive ends: nobody writes one so by hand


def _is_ours(place: str) -> bool:
    return os.path.islink(place) and os.readlink(place).endswith(_OURS)


def _is_in_use(drive: str) -> bool:
    """Return whether a run that is not over has mounted the folder."""
    try:
        folder = os.open(drive, os.O_RDONLY)
    except OSError:  # it is gone
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(folder)
    return False


def make_drive(drive: str) -> None:
    """Make Drive's folder, which is there under two names, as on Colab."""
    os.makedirs(drive, exist_ok=True)
    mine, older = os.path.join(drive, "MyDrive"), os.path.join(drive, "My Drive")
    if not os.path.lexists(mine) and os.path.isdir(older):
        mine, older = older, mine
    os.makedirs(mine, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.symlink(os.path.basename(mine), older)


class SecretNotFoundError(Exception):
    """There is no such secret: Colab's error."""


class NotebookAccessError(Exception):
    """The notebook may not read a secret: Colab's error, which no stand-in raises."""


class BackendError(Exception):
    """There is no such secret: Kaggle's error."""


def prepare(folder: str) -> StandIns:
    """Let programs find the TPU's names, what is imported there, and stand-ins for the rest."""
    for name, value in TPU_VARIABLES.items():
        os.environ.setdefault(name, value)
    stand_ins = StandIns(folder)
    sys.meta_path.append(stand_ins)
    # Notebooks write `distutils.version.LooseVersion` after `import distutils` alone: the kernel
    # of Colab has imported it.
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("distutils.version")
    return stand_ins
