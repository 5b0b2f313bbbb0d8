"""Actions, hover, code lenses and inlay hints, as an editor asks for them."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from tests.integration.server.editor import Editor, applied, editor, named, run, spot, write
from tests.integration.server.test_diagnostics import LAYERS, TRAINER, project

RENAMED = """\
import tensorflow.compat.v1 as tf

x = 1  # noqa: TPU101


def double(x):
    return 2 * x


tf.tpu.outside_compilation(double, 1)  # tpulint: ignore[TPU203] -- on purpose
y = tf.tpu.rewrite(double, [x], name="twice")
"""

DIVIDED = """\
import tensorflow.compat.v1 as tf

scale = tf.get_variable("scale", shape=[], use_resource=True)


def divide(loss, by):
    return loss / by


def computation(x):
    loss = tf.reduce_mean(x * 2.0)
    with tf.control_dependencies([x * 1]):
        return scale.assign_add(loss) * tf.tpu.outside_compilation(divide, loss, scale)


tf.tpu.rewrite(computation, [tf.zeros([4])])
"""


def test_fixes_are_safe_or_unsafe_and_give_sound_code(tmp_path: Path) -> None:
    async def scenario() -> None:
        write(tmp_path, {"README.md": "", "renamed.py": RENAMED, "divided.py": DIVIDED})
        async with editor(tmp_path) as it:
            uri = it.open(tmp_path / "renamed.py")
            assert {code for code, _ in await it.found(uri)} == {"TPU002", "TPU405"}
            where = spot(RENAMED, "# noqa: TPU101")
            fix, *_ = await it.actions(uri, where)
            assert fix.title == "tpulint (TPU002): Remove the unused suppression"
            assert fix.is_preferred
            text = applied(RENAMED, fix.edit, uri)
            assert "noqa" not in text
            (every,) = await it.actions(uri, where, only=["source.fixAll"])
            text = applied(RENAMED, every.edit, uri)
            it.edit(uri, text)
            assert await it.found(uri) == []

            other = it.open(tmp_path / "divided.py")
            fix, *_ = await it.actions(other, spot(DIVIDED, "loss / by"))
            assert fix.title.endswith("(unsafe fix)")
            assert not fix.is_preferred
            it.edit(other, applied(DIVIDED, fix.edit, other))
            assert await it.found(other) == []

    run(scenario)


def test_a_finding_is_suppressed_with_a_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        for kind in ("neovim", "visual-studio-code"):  # with and without versions in edits
            async with editor(project(tmp_path), kind=kind) as it:
                uri = it.open(tmp_path / "trainer.py")
                where = spot(TRAINER, "self.total.read_value()")
                (action,) = [
                    item for item in await it.actions(uri, where) if "Suppress" in item.title
                ]
                text = applied(TRAINER, action.edit, uri)
                row = text.splitlines()[where.start.line]
                assert row.endswith("  # tpulint: ignore[TPU101] -- TODO: say why")
                it.edit(uri, text)
                assert await it.found(uri) == []

    run(scenario)


def test_hover_shows_the_page_of_the_rule(tmp_path: Path) -> None:
    async def scenario() -> None:
        write(tmp_path, {"renamed.py": RENAMED})
        async with editor(project(tmp_path)) as it:
            uri = it.open(tmp_path / "trainer.py")
            page = await it.hover(uri, 10, 30)
            assert page is not None
            assert "## What it does" in page
            assert "host-variable-deadlock" in page
            assert await it.hover(uri, 1, 1) is None
            other = it.open(tmp_path / "renamed.py")
            row = RENAMED.splitlines().index("x = 1  # noqa: TPU101") + 1
            page = await it.hover(other, row, len("x = 1  # noqa: TPU10"))
            assert page is not None
            assert "host-variable-deadlock" in page
            row = next(
                number for number, line in enumerate(RENAMED.splitlines(), 1) if "TPU203" in line
            )
            column = RENAMED.splitlines()[row - 1].index("TPU203") + 2
            page = await it.hover(other, row, column)
            assert page is not None
            assert "outside-compilation-no-op" in page

    run(scenario)


async def lenses(it: Editor, uri: str) -> list[tuple[int, str]]:
    """The rows (1-based) and the titles of the lenses in a document."""
    answer = it.client.text_document_code_lens_async(types.CodeLensParams(named(uri)))
    return [
        (action.range.start.line + 1, action.command.title)
        for action in await it.asked(answer) or ()
        if action.command is not None
    ]


def test_lenses_say_who_runs_a_function(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            assert await lenses(it, it.open(tmp_path / "trainer.py")) == [
                (6, "runs on host"),
                (9, "runs on host (host cluster)"),
                (12, "runs on device"),
                (17, "runs on host"),
            ]
            layers = it.open(tmp_path / "layers.py")
            assert await lenses(it, layers) == [(1, "runs on device")]
            it.edit(layers, "\n\n" + LAYERS)
            assert await lenses(it, layers) == [(3, "runs on device")]
            it.client.workspace_did_change_configuration(
                types.DidChangeConfigurationParams({"tpulint": {"codeLens": False}})
            )
            assert await lenses(it, layers) == []

    run(scenario)


def test_hints_say_what_crosses_to_a_cluster(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            uri = it.open(tmp_path / "trainer.py")
            whole = types.Range(types.Position(0, 0), types.Position(100, 0))
            (hint,) = await it.asked(
                it.client.text_document_inlay_hint_async(types.InlayHintParams(named(uri), whole))
            )
            assert hint.label == "host cluster, takes 1 tensor, the device waits"
            assert hint.position == spot(TRAINER, "self.relative").end
            top = types.Range(types.Position(0, 0), types.Position(1, 0))
            assert not await it.asked(
                it.client.text_document_inlay_hint_async(types.InlayHintParams(named(uri), top))
            )

    run(scenario)
