"""Every row of `calls.toml` says what its head allows, of names that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reading import names as names_after
from tpulint.absint.domain import context
from tpulint.frontends.tensorflow.knowledge import names
from tpulint.frontends.tensorflow.knowledge.tables import (
    CALLS,
    RETURNS,
    TABLE,
    BadRow,
    call_facts,
    function_preserving,
    load,
    parse_row,
)
from tpulint.frontends.tensorflow.models.table import public_name

NAMES = [name for row in call_facts() for name in row.names]
FORM = re.compile(r"(?:\?|[a-z_]\w*)(?:\.\w+)*\.(?:\w+|\*)")


def test_no_name_has_two_rows() -> None:
    spelled = [public_name(name).dotted for name in NAMES]
    assert not {name for name in spelled if spelled.count(name) > 1}
    assert len(NAMES) > 150


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_dotted(name: str) -> None:
    assert FORM.fullmatch(name)


def test_the_names_of_tables_of_tensorflow_are_in_them() -> None:
    """The table of names holds a part of the API only: these modules of it whole."""
    watched = [
        f"tensorflow{name[2:]}"
        for name in NAMES
        if name.startswith(("tf.config.", "tf.distribute.", "tf.summary.", "tf.tpu."))
        if "Strategy." not in name
    ]
    assert len(watched) > 8
    assert [path for path in watched if not names.is_listed(path)] == []


def test_a_context_has_a_known_effect() -> None:
    effects = {value for value in vars(context).values() if isinstance(value, str)}
    rows = [row for row in call_facts() if row.returns == "context"]
    assert rows
    assert {row.scope for row in rows} <= effects
    assert not [row for row in call_facts() if row.scope and row.returns != "context"]


def test_the_head_names_every_word() -> None:
    head = Path(TABLE).read_text(encoding="utf-8").split("\n\n")[0]
    words = set(re.findall(r'"(\w+)"', head))
    assert words >= RETURNS | CALLS


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"names": ["a.b"], "return": "tensor"}, "unknown field 'return'"),
        ({"returns": "tensor"}, "`names` is a list"),
        ({"names": "a.b", "returns": "tensor"}, "`names` is a list"),
        ({"names": ["a.b"], "returns": "tensr"}, "returns = 'tensr' of a.b; one of: argument"),
        ({"names": ["a.b"], "returns": ["tensor"]}, "returns = ['tensor'] of a.b"),
        ({"names": ["a.b"], "calls": "later"}, "calls = 'later' of a.b"),
        ({"names": ["a.b"]}, "says neither"),
        ({"names": ["a.b"], "returns": "tensor", "is_ordered": "yes"}, "true or false"),
    ],
)
def test_a_row_that_says_something_else_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRow, match=re.escape(message)):
        parse_row(row)


def test_a_file_of_a_team_is_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('[[call]]\nnames = ["ours.keep"]\nreturns = "argument"\n', encoding="utf-8")
    (row,) = load(path)
    assert row.names == ("ours.keep",)
    assert row.returns == "argument"


def test_decorators_that_keep_the_function_are_known_by_their_last_names() -> None:
    assert {"wraps", "lru_cache", "custom_gradient"} <= function_preserving()


def test_a_row_changes_what_a_call_returns() -> None:
    actual = names_after(
        """
        import functools
        import tensorflow as tf

        def f(x):
            return x

        kept = tf.grad_pass_through(f)
        parts = tf.split(tf.zeros([4]), 2)
        done = tf.group(parts)
        """
    )
    assert repr(actual["kept"]) == "function f"
    assert repr(actual["parts"]).startswith("list [")
    assert "operation" in repr(actual["done"])
