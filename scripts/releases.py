"""The TensorFlow releases that the tables speak of, and the wheels that each is made of."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.names import Roots
from scripts.wheels import Archive, Folder, Library

PLATFORMS = (
    "manylinux1_x86_64",
    "manylinux2010_x86_64",
    "manylinux2014_x86_64",
    "manylinux_2_17_x86_64",
)


class Release(NamedTuple):
    """`version` as users write it; `wheels` are (requirement, Python version) pairs."""

    version: str
    wheels: tuple[tuple[str, str], ...]


def _release(version: str, tensorflow: str, python: str, estimator: str, keras: str) -> Release:
    rows = [(tensorflow, python)]
    rows += [(f"tensorflow-estimator=={estimator}", "3.8")] if estimator else []
    rows += [(f"keras=={keras}", "3.11")] if keras else []
    return Release(version, tuple(rows))


# Oldest first. From 2.16 on `tf.keras` is whichever Keras 3 is installed: the oldest is read.
RELEASES = (
    _release("1.8", "tensorflow==1.8.0", "3.6", "", ""),
    _release("1.12", "tensorflow==1.12.3", "3.6", "", ""),
    _release("1.14", "tensorflow==1.14.0", "3.7", "1.14.0", ""),
    _release("1.15", "tensorflow==1.15.5", "3.7", "1.15.1", ""),
    _release("2.0", "tensorflow==2.0.4", "3.7", "2.0.1", ""),
    _release("2.2", "tensorflow-cpu==2.2.3", "3.8", "2.2.0", ""),
    _release("2.3", "tensorflow-cpu==2.3.4", "3.8", "2.3.0", ""),
    _release("2.4", "tensorflow-cpu==2.4.4", "3.8", "2.4.0", ""),
    _release("2.6", "tensorflow-cpu==2.6.5", "3.9", "2.6.0", "2.6.0"),
    _release("2.8", "tensorflow-cpu==2.8.4", "3.10", "2.8.0", "2.8.0"),
    _release("2.11", "tensorflow-cpu==2.11.1", "3.10", "2.15.0", "2.11.0"),
    _release("2.13", "tensorflow-cpu==2.13.1", "3.11", "2.13.0", "2.13.1"),
    _release("2.15", "tensorflow-cpu==2.15.1", "3.11", "2.15.0", "2.15.0"),
    _release("2.16", "tensorflow-cpu==2.16.2", "3.12", "", "3.0.5"),
    _release("2.18", "tensorflow-cpu==2.18.1", "3.12", "", "3.0.5"),
)
NEWEST = "2.21"  # read from where it is installed

FIRST_API = "tensorflow.tools.api.generator.api"  # where the first releases kept theirs
# Public module: where it may be; the first that exists counts. None: it is not read.
V1 = {
    "tensorflow": ("tensorflow._api.v1", FIRST_API),
    "tensorflow.contrib": ("tensorflow.contrib",),
    "tensorflow.keras": (
        "tensorflow.python.keras.api._v1.keras",
        "tensorflow._api.v1.keras",
        f"{FIRST_API}.keras",
    ),
    "tensorflow.estimator": (
        "tensorflow_estimator._api.v1.estimator",
        "tensorflow.python.estimator.api.estimator",
        f"{FIRST_API}.estimator",
    ),
    "tensorflow.compat.v1": ("tensorflow._api.v1.compat.v1",),
    "tensorflow.compat.v1.estimator": ("tensorflow_estimator._api.v1.estimator",),
    "tensorflow.compat.v1.keras": (),
    "tensorflow.compat.v2": (),
}
V2 = {
    "tensorflow": ("tensorflow._api.v2",),
    "tensorflow.keras": (
        "keras._tf_keras.keras",
        "keras.api._v2.keras",
        "tensorflow.python.keras.api._v2.keras",
    ),
    "tensorflow.compat.v1": ("tensorflow._api.v2.compat.v1",),
    "tensorflow.compat.v1.keras": (
        "keras.api._v1.keras",
        "tensorflow.python.keras.api._v1.keras",
    ),
    "tensorflow.compat.v2": (),
    "tensorflow.summary": (),  # TensorBoard's
}
ESTIMATOR_V2 = {
    "tensorflow.estimator": ("tensorflow_estimator._api.v2.estimator",),
    "tensorflow.compat.v1.estimator": ("tensorflow_estimator._api.v1.estimator",),
}


def library(release: Release, wheels: Path) -> Library:
    """Return the release's packages, from the folder of wheels."""
    archives = [Archive(wheel_of(requirement, wheels)) for requirement, _ in release.wheels]
    core = any("tensorflow_core/__init__.py" in archive.files for archive in archives)
    return Library(archives, {"tensorflow": "tensorflow_core"} if core else None)


def installed(site: Path) -> Library:
    """Return the newest release's packages, where they are installed."""
    return Library([Folder(site, ("tensorflow", "keras"))])


def roots(version: str, packages: Library) -> Roots:
    """Return the folders of the release's public modules."""
    table: dict[str, tuple[str, ...]] = dict(V1 if version.startswith("1.") else V2)
    if version.startswith("2.") and packages.is_module("tensorflow_estimator"):
        table.update(ESTIMATOR_V2)
    if version in ("1.8", "1.12"):  # before the second generation of the API
        table = {name: places for name, places in table.items() if ".compat." not in name}
    modules = {}
    for public, places in table.items():
        there = [place for place in places if packages.file_of(place)]
        modules[public] = there[0] if there else ""
    return Roots(modules)


def wheel_of(requirement: str, wheels: Path) -> Path:
    """Return the wheel that `requirement` (`name==version`) names."""
    name, _, version = requirement.partition("==")
    (wheel,) = wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl")
    return wheel


def download(wheels: Path) -> Iterator[str]:
    """Fetch with pip what is missing in the folder; gives the requirements that were fetched."""
    wheels.mkdir(parents=True, exist_ok=True)
    wanted = dict(wheel for release in RELEASES for wheel in release.wheels)
    for requirement, python in wanted.items():
        name, _, version = requirement.partition("==")
        if any(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl")):
            continue
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", python, "--dest", str(wheels)]
        for platform in PLATFORMS:
            command += ["--platform", platform]
        subprocess.run([*command, requirement], check=True)
        yield requirement
