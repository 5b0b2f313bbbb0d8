"""The fetches and feeds of sessions and their hooks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Argument, Tensor
from tpulint.analysis.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.analysis.domain.values import Opaque, Value

SESSION = re.compile(r"sess(ion)?\b", re.IGNORECASE)
RUNS = frozenset(["run", "partial_run", "make_callable"])


def taken_by(call: ApiCall) -> Iterator[tuple[Value, Argument | None]]:
    """Yield the values that this call of a session fetches or is fed."""
    if call.last in RUNS and _is_session(call.receiver):
        for each in call.arguments:
            yield each.value, each
            if isinstance(each.value, Mapping):
                yield Sequence("list", each.value.keys), each
    elif call.last == "eval" and isinstance(call.receiver, Tensor):
        yield call.receiver, None
    elif call.last.endswith("Hook") or call.last == "SessionRunArgs":
        for each in call.arguments:
            yield each.value, each


def _is_session(receiver: Value | None) -> bool:
    name = receiver.last if isinstance(receiver, (ExternalObject, Opaque)) else ""
    return bool(SESSION.search(name))
