"""Fixes of programs that train under a TPUStrategy."""

from __future__ import annotations

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.domain.objects import Function
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Bound, Value
from tpulint.diagnostics.fixes.imported_name import tensorflow_in
from tpulint.finding import Applicability, Fix

UNSAFE = Applicability.UNSAFE


def step_compiled(step: Value, run: Site) -> Fix | None:
    """Return the fix that decorates the step with `tf.function`, which `run` then compiles."""
    function = step.function if isinstance(step, Bound) else step
    if not isinstance(function, Function) or function.code.is_lambda:
        return None
    module = function.module
    tf = tensorflow_in(module)
    if tf is None or module is not run.module:
        return None
    row = module.span(function.code.place).start.row
    from tpulint.diagnostics.fixes.blocks import decorated

    edits = decorated(module, function.name, row, f"{tf}.function")
    message = f"compile `{function.name}` with `{tf}.function`"
    return None if edits is None else Fix(UNSAFE, message, edits)


def without_scope(scope: Site) -> Fix | None:
    """Return the fix that takes away `with strategy.scope():`, and leaves its block."""
    from tpulint.diagnostics.fixes.blocks import without_with

    edits = without_with(scope)
    return None if edits is None else Fix(UNSAFE, "remove the scope", edits)


def in_scope(made: Site) -> Fix | None:
    """Return the fix that puts a statement under the scope of the strategy that is named there."""
    from tpulint.diagnostics.fixes.blocks import under_scope

    scoped = under_scope(made)
    if scoped is None:
        return None
    strategy, edits = scoped
    return Fix(UNSAFE, f"make it under `{strategy}.scope()`", edits)


def not_eager(switch: ApiCall, argument: Argument) -> Fix | None:
    """Return the fix that lets functions be compiled."""
    from tpulint.diagnostics.fixes.calls import made_false, without_keyword

    if argument.keyword is not None and switch.last == "compile":
        edits = without_keyword(switch.site, argument.keyword)
    else:
        (index,) = (i for i, each in enumerate(switch.arguments) if each is argument)
        edits = made_false(switch.site, index)
    return None if edits is None else Fix(UNSAFE, "do not run it eagerly", edits)
