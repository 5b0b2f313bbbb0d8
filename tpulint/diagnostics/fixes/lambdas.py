"""The fix of a lambda that needs a name: a function with that of the variable it is for."""

from __future__ import annotations

from tpulint.analysis.domain.site import Site
from tpulint.finding import Applicability, Fix


def named(lambda_: Site) -> Fix | None:
    """Return the fix that makes of `step = tf.function(lambda ...)` a decorated function `step`."""
    from tpulint.diagnostics.fixes.blocks import defined

    found = defined(lambda_)
    if found is None:
        return None
    name, edits = found
    return Fix(Applicability.UNSAFE, f"make it the function `{name}`", edits)
