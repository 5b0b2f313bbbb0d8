"""The releases of TensorFlow that a name in a program's source has to exist in."""

from __future__ import annotations

import re

from tpulint.analysis.domain.events import ApiCall
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.names.requirements import allowed
from tpulint.analysis.names.target_release import Target, keeps_keras_2
from tpulint.knowledge import operations

KERAS = "tensorflow.keras"
V1_AND_V2 = "tensorflow.summary."  # whose functions build other operations in TensorFlow 2
CONTRIB = re.compile(r"^[^#\n]*\btf\.contrib\.", re.MULTILINE)


def target_at(program: Program, site: Site, path: str) -> Target:
    """Return the target for the dotted name `path` where it is used."""
    module = site.module
    keras_2 = keeps_keras_2(module.text.encode())
    return program.targets.of(module.filename).of_file(keras_2).of_name(path)


def operation_built(program: Program, call: ApiCall) -> operations.BuiltOperation | None:
    """Return the operation that a call builds and that is not compiled, if any.

    In TensorFlow 1, `tf.summary` is what later releases call `tf.compat.v1.summary`.
    """
    if call.path.startswith(V1_AND_V2) and is_for_tensorflow_1(program, call.site):
        return operations.builds(call.path.replace("tensorflow.", operations.V1, 1))
    return operations.builds(call.path)


def is_for_tensorflow_1(program: Program, site: Site) -> bool:
    """Return whether the module of `site` runs on TensorFlow 1 alone: by its target, or names."""
    target = program.targets.of(site.module.filename)
    if target.stated:
        return not target.mask & allowed([(">=", "2.0")])
    return CONTRIB.search(site.module.text) is not None
