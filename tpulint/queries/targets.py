"""The releases of TensorFlow that a name in a program's source has to exist in."""

from __future__ import annotations

from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.names.target_release import Target

KERAS = "tensorflow.keras"


def target_at(program: Program, site: Site, path: str) -> Target:
    """Return the target for the dotted name `path` where it is used."""
    module = site.module
    return program.targets.of(module.filename).of_file(module.text.encode()).of_name(path)
