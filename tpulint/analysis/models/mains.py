"""`app.run(main)`: the function that a program starts with."""

from __future__ import annotations

from tpulint.analysis.domain.objects import function_of
from tpulint.analysis.domain.values import NONE, Value, options
from tpulint.analysis.models.call import Call

RUNS = ("absl.app.run", "tensorflow.app.run", "tensorflow.compat.v1.app.run")


def answer(this: Call) -> Value | None:
    """Leave the function to be read in its turn, as a `main` that is passed to nothing is."""
    if this.path not in RUNS:
        return None
    session = this.frame.session
    for each in options(this.get("main", 0) or NONE):
        function = function_of(each)
        if function is not None:
            session.mains.add(id(function.code))
    return NONE
