"""The stable interface for rules of your own: all that they import comes from here.

What this module exports keeps its name and meaning, as the command line does (docs/stability.md).
Everything else in tpulint may change in any release. docs/extending.md shows how to write a rule,
and `tpulint new-rule` writes the first version of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tpulint import plugins
from tpulint.absint.domain.events import (
    Access,
    ApiCall,
    Argument,
    Cluster,
    Computation,
    Context,
    Tensor,
    Variable,
)
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Const, Value
from tpulint.diagnostics.traces import path_to_site
from tpulint.finding import Applicability, Certainty, Edit, Fix, Location, Severity, Span, Step
from tpulint.frontends.tensorflow.models.clusters import outside_compilation as run_on_host
from tpulint.frontends.tensorflow.models.entry_points import run_on_device
from tpulint.frontends.tensorflow.models.table import Call, Model
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import compiled_if
from tpulint.queries.device_code import compiled_calls, device_calls
from tpulint.rules.base import Report, Rule

# The promise to plug-ins is this list: the modules above may move, these names may not.
__all__ = [
    "UNKNOWN",
    "Access",
    "ApiCall",
    "Applicability",
    "Argument",
    "Call",
    "Certainty",
    "Cluster",
    "Computation",
    "Const",
    "Context",
    "Edit",
    "Fix",
    "Location",
    "Program",
    "Report",
    "Rule",
    "Severity",
    "Site",
    "Span",
    "Step",
    "Tensor",
    "Value",
    "Variable",
    "certainty",
    "compiled_calls",
    "device_calls",
    "model",
    "path_to_site",
    "register",
    "run_on_device",
    "run_on_host",
]

AnyModel = TypeVar("AnyModel", bound=Model)
AnyRule = TypeVar("AnyRule", bound=type[Rule])


def register(rule: AnyRule) -> AnyRule:
    """Add a rule to those that run. Raises ValueError for one that lacks a code or a name."""
    plugins.register_rule(rule)
    return rule


def model(*names: str, seam: bool = False) -> Callable[[AnyModel], AnyModel]:
    """Use a function to say what the calls of `names` mean.

    `seam`: the call opens a host cluster or a computation. Then a file that has the last part of a
    name in it is checked, even if it shows nothing else of TensorFlow's TPU API.
    """

    def enter(function: AnyModel) -> AnyModel:
        plugins.register_model(names, function, seam)
        return function

    return enter


def certainty(program: Program, computation: Computation, context: Context) -> Certainty:
    """Return DEFINITE where what is built at `context` is certainly compiled for a TPU."""
    return compiled_if(program, computation, context)
