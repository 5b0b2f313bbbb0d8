"""Programs with TPU204, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "the counter is read, and compared with what it was": V1
    + """
def opens_clusters(function, *args):
    context = tf.get_default_graph()._get_control_flow_context()
    before = context._outside_compilation_counter
    function(*args)
    return context._outside_compilation_counter != before
""",
    "the flag of a thread, read by getattr": V1
    + """
import threading

_state = threading.local()

def on_host(function, *args):
    if not getattr(_state, "on", False):
        _state.on = True  # error: TPU204
        result = tf.tpu.outside_compilation(function, *args)
        _state.on = False
        return result
    return function(*args)
""",
    "the counter guards nothing": V1
    + """
def on_host(function, *args):
    context = tf.get_default_graph()._get_control_flow_context()
    if context is not None and context._outside_compilation_counter > 0:  # error: TPU204
        return function(*args)
    return tf.tpu.outside_compilation(function, *args)
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
