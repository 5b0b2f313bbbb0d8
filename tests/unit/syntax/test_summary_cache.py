"""Of the summaries, the disk gets those of which libcst has read a part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpulint.syntax import ir
from tpulint.syntax.lazy_module import pieces_of
from tpulint.syntax.summary_cache import Store

LINES = "    value = value * 2\n" * 4  # so many that the body is left for later
FOLLOWED = f"def scaled(value):\n{LINES}    return value\n"
SEAM_AROUND = f"{FOLLOWED}\ntrain = tf.compat.v1.tpu.rewrite(scaled)\n"
STRATEGY = f"{FOLLOWED}\nstrategy = tf.distribute.TPUStrategy()\nstrategy.run(scaled)\n"
SEAM_IN_BODY = f"{FOLLOWED}\ndef train(value):\n{LINES}    return tpu.rewrite(scaled)\n"


def summary(store: Store, text: str) -> ir.ModuleSummary:
    found = store.one("m.py", text.encode(), text)
    assert found is not None
    pieces_of(text, found)
    return found


def kept(folder: Path) -> list[Path]:
    return list(folder.rglob("*.json"))


def test_what_shows_the_seam_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = summary(store, SEAM_AROUND)
    assert made.functions[0].known is None
    made.functions[0].body  # noqa: B018  # reads it
    store.keep()
    (entry,) = kept(tmp_path)
    before = entry.stat().st_mtime_ns
    again = Store(tmp_path)
    loaded = summary(again, SEAM_AROUND)
    assert loaded.functions[0].known is not None
    assert (loaded.body, loaded.functions[0].body) == (made.body, made.functions[0].body)
    again.keep()
    assert entry.stat().st_mtime_ns == before  # nothing more was read


@pytest.mark.parametrize("text", [FOLLOWED, STRATEGY.replace("TPU", "")], ids=["none", "strategy"])
def test_what_does_not_name_the_seam_is_not_kept(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    summary(store, text).functions[0].body  # noqa: B018
    store.keep()
    assert kept(tmp_path) == []


def test_a_body_that_shows_the_seam_is_kept_when_it_was_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = summary(store, SEAM_IN_BODY)
    store.keep()
    assert kept(tmp_path) == []
    made.functions[1].body  # noqa: B018
    store.keep()
    assert len(kept(tmp_path)) == 1
    assert summary(Store(tmp_path), SEAM_IN_BODY).functions[1].known is not None


@pytest.mark.parametrize("text", ["x = 1\n", "def f(x):\n    return x\n"])
def test_modules_without_large_bodies(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    summary(store, text)
    store.keep()
    assert kept(tmp_path) == []
