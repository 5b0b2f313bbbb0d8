"""The releases of TensorFlow that a name in a program's source has to exist in."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall
from tpulint.analysis.domain.program import Program
from tpulint.analysis.domain.site import Site
from tpulint.analysis.names.requirements import allowed
from tpulint.analysis.names.target_release import Target, keeps_keras_2
from tpulint.frontends.tensorflow.branch_tests import dotted_path
from tpulint.knowledge import operations
from tpulint.syntax.expression_nodes import Attribute

KERAS = "tensorflow.keras"
V1_AND_V2 = "tensorflow.summary."  # whose functions build other operations in TensorFlow 2
CONTRIB = "tf.contrib"  # which TensorFlow 2 does not have


def target_at(program: Program, site: Site, path: str) -> Target:
    """Return the target for the dotted name `path` where it is used."""
    module = site.module
    return program.targets.of(module.filename).of_file(module.holds(keeps_keras_2)).of_name(path)


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
    return site.module.facts.names_any(frozenset(["contrib"])) and any(
        isinstance(node, Attribute) and dotted_path(node.base) == CONTRIB
        for node in site.module.nodes()
    )
