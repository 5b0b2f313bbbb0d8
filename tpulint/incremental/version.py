"""The identity of the analyzer that runs: what another one has found is not recalled."""

from __future__ import annotations

import functools
import hashlib
import os

import tpulint
from tpulint import plugins

SUFFIXES = (".py", ".toml", ".tsv")
APART = ("runtime", "__pycache__")  # folders that no finding depends on


def package_hash() -> str:
    """Return the hash of all code that findings can depend on: the package's, and plug-ins'."""
    key = plugins.active().key
    return hashlib.sha256(f"{own_hash()}\n{key}".encode()).hexdigest() if key else own_hash()


@functools.cache
def own_hash() -> str:
    """Return the hash of all files of the package that findings can depend on."""
    digest = hashlib.sha256()
    top = os.path.dirname(tpulint.__file__)
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(folder_name for folder_name in folders if folder_name not in APART)
        for name in sorted(names):
            if name.endswith(SUFFIXES):
                with open(os.path.join(folder, name), "rb") as stream:
                    content = hashlib.sha256(stream.read()).hexdigest()
                place = os.path.relpath(os.path.join(folder, name), top)
                digest.update(f"{place}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
