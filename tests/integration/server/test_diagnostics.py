"""Diagnostics as an editor gets them: pushed and pulled, from unsaved text, with every lane."""

from __future__ import annotations

import asyncio
import operator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.integration.programs import LAUNCHES
from tests.integration.server.editor import Editor, codes, editor, last, run, text_at, write

TRAINER = """\
import tensorflow.compat.v1 as tf
from layers import advance


class Trainer:
    def __init__(self):
        self.total = tf.get_variable("total", [], use_resource=True)

    def relative(self, loss):
        return loss / self.total.read_value()

    def step(self, x):
        loss = tf.square(x)
        with tf.control_dependencies([advance(self.total, loss)]):
            return 2.0 * tf.tpu.outside_compilation(self.relative, loss)

    def train(self):
        return tf.tpu.rewrite(lambda x: self.step(x), [tf.constant(1.0)])


Trainer().train()
"""
LAYERS = """\
def advance(total, loss):
    return total.assign_add(loss)
"""
QUIET = """\
def advance(total, loss):
    return loss
"""


def project(folder: Path) -> Path:
    write(folder, {"README.md": "", "trainer.py": TRAINER, "layers.py": LAYERS})
    return folder


def test_what_is_found_is_pushed_to_a_client_that_does_not_pull(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path), kind="visual-studio-code") as it:
            uri = it.open(tmp_path / "trainer.py")
            (actual,) = await it.pushed(uri, bool)
            assert (actual.code, actual.source) == ("TPU101", "tpulint")
            assert actual.severity == types.DiagnosticSeverity.Error
            assert actual.code_description is not None
            assert actual.code_description.href.endswith("tpu101_host_variable_deadlock.md")
            it.edit(uri, TRAINER.replace("self.total.read_value()", "2.0"))
            await it.pushed(uri, lambda here: not here)

    run(scenario)


def test_rules_about_performance_are_asked_for_in_the_configuration(tmp_path: Path) -> None:
    files = {"pyproject.toml": "[tool.tpulint]\nperformance = true\n", "main.py": LAUNCHES}
    write(tmp_path, files)

    async def scenario() -> None:
        async with editor(tmp_path) as it:
            launches, precision = (await it.pull(it.open(tmp_path / "main.py"))).items
            assert codes([launches, precision]) == [("TPU901", 9), ("TPU906", 10)]
            assert launches.severity == types.DiagnosticSeverity.Information
            assert launches.message.endswith("pass `steps_per_execution=100`")
            assert launches.code_description is not None
            assert launches.code_description.href.endswith("tpu901_one_step_per_launch.md")

    run(scenario)


def test_every_step_of_every_lane_is_a_related_location(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            (actual,) = (await it.pull(it.open(tmp_path / "trainer.py"))).items
            steps = actual.related_information
            assert {step.message.split(":")[0].split(". ")[1] for step in steps} == {
                "device",
                "host",
            }
            places = {
                (step.location.uri.rpartition("/")[2], step.location.range.start.line + 1)
                for step in steps
            }
            assert ("trainer.py", 10) in places
            assert ("layers.py", 2) in places

    run(scenario)


def test_unsaved_text_is_checked_with_the_other_files(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            trainer = it.open(tmp_path / "trainer.py")
            layers = it.open(tmp_path / "layers.py")
            assert [code for code, _ in await it.found(trainer)] == ["TPU101"]
            it.edit(layers, QUIET)
            assert await it.found(trainer) == []
            it.edit(layers, "total.assign_add(loss)", last(QUIET, "loss"))
            assert [code for code, _ in await it.found(trainer)] == ["TPU101"]
            assert (tmp_path / "layers.py").read_text(encoding="utf-8") == LAYERS

    run(scenario)


def test_a_closed_document_counts_as_it_is_on_the_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            trainer = it.open(tmp_path / "trainer.py")
            layers = it.open(tmp_path / "layers.py", QUIET)
            assert await it.found(trainer) == []
            it.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(layers))
            )
            assert [code for code, _ in await it.found(trainer)] == ["TPU101"]

    run(scenario)


def test_a_file_that_only_the_editor_has_is_part_of_the_project(tmp_path: Path) -> None:
    async def scenario() -> None:
        write(tmp_path, {"README.md": "", "trainer.py": TRAINER})
        async with editor(tmp_path) as it:
            trainer = it.open(tmp_path / "trainer.py")
            await it.found(trainer)
            it.open(tmp_path / "layers.py", LAYERS)
            (actual,) = (await it.pull(trainer)).items
            assert any(
                related.location.uri.endswith("layers.py") for related in actual.related_information
            )
            new = it.open("untitled:Untitled-1", TRAINER)
            assert [code for code, _ in await it.found(new)] == ["TPU101"]

    run(scenario)


def test_a_document_beyond_the_limit_is_not_read_and_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            large = it.open(tmp_path / "large.py", TRAINER + "# filled\n" * 1_500_000)
            (actual,) = await it.found(large)
            assert actual[0] == "TPU001"
            assert [code for code, _ in await it.found(it.open(tmp_path / "trainer.py"))] == [
                "TPU101"
            ]

    run(scenario)


def test_an_unchanged_answer_is_not_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            uri = it.open(tmp_path / "trainer.py")
            first = await it.pull(uri)
            again = await it.pull(uri, first.result_id)
            assert again.kind == "unchanged"
            it.edit(uri, "\n" + TRAINER)
            third = await it.pull(uri, first.result_id)
            assert third.kind == "full"
            assert codes(third.items)[0][1] == codes(first.items)[0][1] + 1

    run(scenario)


def test_the_workspace_is_pulled_with_files_that_nobody_opened(tmp_path: Path) -> None:
    async def everything(it: Editor, before: list[types.PreviousResultId]) -> list[object]:
        answer = await it.asked(
            it.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(before))
        )
        return list(answer.items)

    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            (actual,) = await everything(it, [])
            assert isinstance(actual, types.WorkspaceFullDocumentDiagnosticReport)
            assert actual.uri == (tmp_path / "trainer.py").as_uri()
            assert actual.result_id is not None
            before = [types.PreviousResultId(actual.uri, actual.result_id)]
            (again,) = await everything(it, before)
            assert isinstance(again, types.WorkspaceUnchangedDocumentDiagnosticReport)
            it.open(tmp_path / "layers.py", QUIET)
            (gone,) = await everything(it, before)
            assert isinstance(gone, types.WorkspaceFullDocumentDiagnosticReport)
            assert (gone.uri, list(gone.items)) == (actual.uri, [])

    run(scenario)


def test_a_client_is_asked_to_pull_again_what_it_did_not_edit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path), watches=True) as it:
            trainer = it.open(tmp_path / "trainer.py")
            layers = it.open(tmp_path / "layers.py")
            assert await it.found(trainer)
            before = it.client.diagnostic_refresh_count
            it.edit(layers, QUIET)
            assert await it.found(trainer) == []
            await it.until(lambda: it.client.diagnostic_refresh_count > before)

    run(scenario)


@pytest.mark.parametrize("kind", ["neovim", "visual-studio-code", "emacs"])
def test_columns_are_counted_as_the_client_counts_them(tmp_path: Path, kind: str) -> None:
    wide = TRAINER.replace("loss / self", '["\U0001f600", loss][1] / self')

    async def scenario() -> None:
        write(tmp_path, {"README.md": "", "trainer.py": wide, "layers.py": LAYERS})
        async with editor(tmp_path, kind=kind) as it:
            uri = it.open(tmp_path / "trainer.py")
            pulls = kind == "neovim"
            (actual,) = (await it.pull(uri)).items if pulls else await it.pushed(uri, bool)
            assert text_at(wide, actual.range, it.encoding) == "self.total.read_value()"

    run(scenario)


def test_all_findings_follow_those_of_the_edited_file(tmp_path: Path) -> None:
    """Two trainers share a module: they are one program, and an edit concerns a part of it."""
    fine = TRAINER.replace("self.total.read_value()", "2.0")

    async def scenario() -> None:
        write(project(tmp_path), {"second.py": TRAINER})
        async with editor(tmp_path, kind="visual-studio-code") as it:
            first, second = it.open(tmp_path / "trainer.py"), it.open(tmp_path / "second.py")
            layers = it.open(tmp_path / "layers.py")
            await it.pushed(first, bool)
            await it.pushed(second, bool)
            for text in (fine, TRAINER, fine, TRAINER):
                await asyncio.sleep(0.2)
                it.edit(first, text)
                await it.pushed(first, bool if text == TRAINER else operator.not_)
                await it.pushed(second, bool)
            it.edit(layers, QUIET)
            await it.pushed(first, lambda here: not here)
            await it.pushed(second, lambda here: not here)

    run(scenario)
