"""The command line as its users meet it: terminals, shells, git repositories, other tools."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import ROOT, Answer, run, tpulint
from tpulint.cli.options import parser
from tpulint.codes import CODES

NESTED = """\
import tensorflow as tf

def inner(x):
    return tf.compat.v1.tpu.outside_compilation(abs, x)

def step(x):
    return tf.compat.v1.tpu.outside_compilation(inner, x)

print(tf.compat.v1.tpu.rewrite(step, [[1.0]]))
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
COMMAND = [sys.executable, "-m", "tpulint"]
PATIENCE = 60  # seconds until a process must have done what a test waits for


def rows(answer: Answer) -> list[tuple[str, str]]:
    data = json.loads(answer.out)
    return sorted((os.path.basename(row["filename"]), row["code"]) for row in data)


class TestWatch:
    @pytest.fixture
    def watching(self, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
        (tmp_path / "a.py").write_text("x = 1\n")
        command = [*COMMAND, "check", "--watch", "--output-format", "concise"]
        started = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        yield started
        started.kill()
        started.communicate()

    def test_a_change_is_checked_and_ctrl_c_ends_it(
        self, tmp_path: Path, watching: subprocess.Popen[bytes]
    ) -> None:
        output = read_until(watching, b"watching for changes")
        assert b"No TPU program found in 1 file." in output
        (tmp_path / "a.py").write_text(NESTED)
        assert b"a.py:4:12: TPU201" in read_until(watching, b"watching for changes")
        (tmp_path / "tpulint.toml").write_text("nonsense = 1\n")
        assert b"unknown key 'nonsense'" in read_until(watching, b"watching for changes")
        (tmp_path / "tpulint.toml").write_text("ignore = ['TPU2']\n")
        assert b"Checked 1 TPU program in 1 of 1 file." in read_until(
            watching, b"watching for changes"
        )
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=PATIENCE) == 130


def read_until(process: subprocess.Popen[bytes], word: bytes) -> bytes:
    assert process.stdout is not None
    return read(process.stdout.fileno(), word)


def read(stream: int, word: bytes | None) -> bytes:
    """Read the stream up to `word`, or to its end."""
    output = b""
    deadline = time.monotonic() + PATIENCE
    while word is None or word not in output:
        assert time.monotonic() < deadline, output
        if select.select([stream], [], [], 0.2)[0]:
            try:
                part = os.read(stream, 65536)
            except OSError:  # the other end of the terminal was closed
                part = b""
            if not part:
                break
            output += part
    return output


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that take some seconds to check."""
    folder: Path = tmp_path_factory.mktemp("many")
    for number in range(200):
        (folder / f"f{number}.py").write_text(NESTED.replace("inner", f"inner_{number}") * 12)
    return folder


class TestProgress:
    def test_a_long_run_shows_itself_on_a_terminal_and_clears_its_line(self, many: Path) -> None:
        ours, theirs = pty.openpty()
        command = [*COMMAND, "check", "-n", "--jobs", "1", "-o", os.devnull, str(many)]
        with subprocess.Popen(command, stderr=theirs, env=ENVIRONMENT) as process:
            os.close(theirs)
            output = read(ours, None)
            assert process.wait(timeout=PATIENCE) == 1
        os.close(ours)
        assert b"\r\x1b[Ktpulint: " in output
        assert b" s)" in output
        assert output.endswith(b"\r\x1b[K")

    def test_nothing_of_it_is_written_to_a_pipe(self, many: Path) -> None:
        answer = tpulint(many, "check", "-n", "--jobs", "1", "-o", os.devnull)
        assert (answer.status, answer.err) == (1, "")


class TestOnTheTerminal:
    def shown(self, folder: Path, columns: int, **variables: str) -> str:
        (folder / "long.py").write_text(NESTED.replace("[[1.0]]", f"[[{', '.join(['1.0'] * 60)}]]"))
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        # Nothing of the terminal that runs the tests, or of a CI, which shows no links.
        inherited = {name: ENVIRONMENT[name] for name in ("PATH", "PYTHONPATH", "HOME")}
        environment = {**inherited, "TERM": "xterm", **variables}
        command = [*COMMAND, "check", "-n", "--select", "TPU201", "long.py"]
        with subprocess.Popen(
            command, stdout=theirs, stderr=theirs, env=environment, cwd=folder
        ) as process:
            os.close(theirs)
            output = read(ours, None)
            assert process.wait(timeout=PATIENCE) == 1
        os.close(ours)
        return output.decode()

    @pytest.mark.parametrize("columns", [40, 80, 160])
    def test_its_width_is_used(self, tmp_path: Path, columns: int) -> None:
        output = re.sub(r"\x1b\[[\d;]*[mK]", "", self.shown(tmp_path, columns))
        finding = output.partition("Found 1 error")[0]
        widest = max(len(line.split("\r")[-1]) for line in finding.split("\r\n"))
        assert columns - 20 < widest <= columns

    def test_the_code_is_a_link_where_the_terminal_shows_links(self, tmp_path: Path) -> None:
        link = f"\x1b]8;;{CODES['TPU201'].url}\x1b\\"
        assert link in self.shown(tmp_path, 80, VTE_VERSION="7600")
        assert link in self.shown(tmp_path, 80, TERM_PROGRAM="vscode")
        assert "\x1b]8" not in self.shown(tmp_path, 80)
        assert "\x1b]8" not in self.shown(tmp_path, 80, VTE_VERSION="7600", FORCE_HYPERLINK="0")
        assert "\x1b]8" not in self.shown(tmp_path, 80, VTE_VERSION="7600", CI="true")


def test_the_manual_page_is_read_without_a_warning(tmp_path: Path) -> None:
    page = ROOT / "docs/tpulint.1"
    if shutil.which("groff"):
        answer = run(["groff", "-man", "-ww", "-Tutf8", str(page)], tmp_path)
        assert (answer.status, answer.err) == (0, "")
    text = page.read_text(encoding="utf-8").replace("\\-", "-")
    assert all(f".SS tpulint {name}\n" in text for name in parser().commands())
    options = {"-h", "--help"}.symmetric_difference(parser().commands()["check"].options())
    assert [option for option in options if option not in text] == []


class TestChangedSince:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        """`main` imports `step`, which imports `lib`; `other` is alone. All hold a fault."""
        (tmp_path / "lib").mkdir()
        (tmp_path / "lib/__init__.py").write_text("")
        (tmp_path / "lib/base.py").write_text(NESTED)
        (tmp_path / "step.py").write_text(f"from lib import base\n{NESTED}")
        (tmp_path / "main.py").write_text(f"import step\n{NESTED}")
        (tmp_path / "other.py").write_text(NESTED)
        git(tmp_path, "init", "-q", "-b", "trunk")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", "first")
        return tmp_path

    def found(self, folder: Path, *more: str) -> list[str]:
        answer = tpulint(
            folder, "check", "--changed-since", "trunk", "--output-format", "json", *more
        )
        assert answer.status in (0, 1), answer.err
        return [name for name, _ in rows(answer)]

    def test_nothing_changed(self, repository: Path) -> None:
        assert self.found(repository) == []

    def test_importers_at_any_distance_and_what_they_import(self, repository: Path) -> None:
        with (repository / "step.py").open("a") as file:
            file.write("y = 2\n")
        assert self.found(repository) == ["base.py", "main.py", "step.py"]

    def test_a_leaf(self, repository: Path) -> None:
        (repository / "other.py").write_text(f"x = 1\n{NESTED}")
        assert self.found(repository) == ["other.py"]
        assert self.found(repository, "main.py") == []

    def test_files_that_are_new_or_gone(self, repository: Path) -> None:
        (repository / "new.py").write_text(NESTED)
        assert self.found(repository) == ["new.py"]
        (repository / "lib/base.py").unlink()
        assert self.found(repository) == ["main.py", "new.py", "step.py"]

    def test_committed_changes_of_a_branch(self, repository: Path) -> None:
        git(repository, "checkout", "-q", "-b", "topic")
        (repository / "other.py").write_text(f"x = 1\n{NESTED}")
        git(repository, "commit", "-qam", "mine")
        git(repository, "checkout", "-q", "trunk")
        (repository / "main.py").write_text(f"x = 1\n{NESTED}")
        git(repository, "commit", "-qam", "somebody else's")
        git(repository, "checkout", "-q", "topic")
        assert self.found(repository) == ["other.py"]

    def test_a_configuration_that_changed_affects_everything(self, repository: Path) -> None:
        (repository / "tpulint.toml").write_text("certainty = 'possible'\n")
        assert len(set(self.found(repository))) == 4

    def test_a_readme_affects_what_is_below_it_where_no_requirements_count(
        self, repository: Path
    ) -> None:
        (repository / "requirements.txt").write_text("numpy\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "requirements")
        (repository / "README.md").write_text("pip install tensorflow==2.3\n")
        assert self.found(repository) == []
        (repository / "lib/README.md").write_text("pip install tensorflow==2.3\n")
        assert self.found(repository) == ["base.py"]

    def test_wrong_revisions_are_one_line(self, repository: Path, tmp_path: Path) -> None:
        for revision in ("no-such", "--output=x", ""):
            answer = tpulint(repository, "check", f"--changed-since={revision}")
            assert (answer.status, answer.out) == (2, "")
            assert answer.err.startswith("tpulint: --changed-since: ")
            assert answer.err.endswith(f": {revision}\n")
            assert answer.err.count("\n") == 1

    def test_outside_of_a_repository(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text(NESTED)
        answer = tpulint(tmp_path, "check", "--changed-since", "HEAD")
        assert answer.status == 2
        assert "not a git repository" in answer.err

    def test_files_that_name_estimators_are_of_one_program(self, repository: Path) -> None:
        for name in ("registry", "model"):
            (repository / f"{name}.py").write_text(f"# TPUEstimator\n{NESTED}")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "estimators")
        (repository / "registry.py").write_text(f"# TPUEstimator, again\n{NESTED}")
        assert self.found(repository) == ["model.py", "registry.py"]


class TestStaged:
    """Without pre-commit, as another tool runs it from git's own hook."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        for name in ("one", "two"):
            (tmp_path / f"{name}.py").write_text(NESTED)
        git(tmp_path, "init", "-q", "-b", "trunk")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", "first")
        return tmp_path

    def found(self, folder: Path, *more: str) -> list[tuple[str, int]]:
        answer = tpulint(folder, "check", "--staged", "--output-format", "json", *more)
        assert answer.status in (0, 1), answer.err
        return [(row["filename"], row["location"]["row"]) for row in json.loads(answer.out)]

    def test_nothing_is_staged(self, repository: Path) -> None:
        (repository / "one.py").write_text(f"x = 1\n{NESTED}")
        (repository / "new.py").write_text(NESTED)
        assert self.found(repository) == []

    def test_files_are_read_as_they_are_staged(self, repository: Path) -> None:
        (repository / "one.py").write_text(f"x = 1\ny = 2\n{NESTED}")
        git(repository, "add", "one.py")
        (repository / "one.py").write_text("x = 1\n")
        (row,) = self.found(repository)
        assert Path(row[0]).name == "one.py"
        assert row[1] == 2 + 4

    def test_a_file_that_is_not_as_staged_is_not_fixed(self, repository: Path) -> None:
        (repository / "one.py").write_text("x = 1  # noqa: TPU999\n")
        git(repository, "add", "one.py")
        (repository / "one.py").write_text("x = 1  # noqa: TPU999\ny = 2\n")
        answer = tpulint(repository, "check", "--staged", "--fix")
        assert answer.status == 2
        assert "one.py: cannot write the file: it changed" in answer.err
        assert (repository / "one.py").read_text() == "x = 1  # noqa: TPU999\ny = 2\n"

    def test_in_a_folder_of_the_repository(self, repository: Path) -> None:
        (repository / "part").mkdir()
        (repository / "part/three.py").write_text(NESTED)
        (repository / "one.py").write_text(f"x = 1\n{NESTED}")
        git(repository, "add", ".")
        (repository / "part/three.py").write_text("")
        ((name, _),) = self.found(repository / "part")
        assert Path(name).name == "three.py"

    def test_with_options_that_name_other_changes(self, repository: Path) -> None:
        for more in (("--changed-since", "HEAD"), ("-",)):
            answer = tpulint(repository, "check", "--staged", *more)
            assert (answer.status, answer.err.count("\n")) == (2, 1)


def git(folder: Path, *arguments: str) -> None:
    named = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    answer = run(["git", *named, *arguments], folder)
    assert answer.status == 0, answer.err


def test_each_file_is_analyzed_under_its_own_settings(tmp_path: Path) -> None:
    wrapped = NESTED.replace(
        "tf.compat.v1.tpu.outside_compilation(inner", "lib.on_host(inner"
    ).replace("import ", "import lib\nimport ", 1)
    for name in ("with_it", "without"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(wrapped)
    answer = tpulint(tmp_path, "check", "-n", "--output-format", "json")
    assert rows(answer) == []
    (tmp_path / "with_it/tpulint.toml").write_text('wrappers = ["lib.on_host"]\n')
    answer = tpulint(tmp_path, "check", "--output-format", "json")
    assert rows(answer) == [("with_it.py", "TPU201")]
    again = tpulint(tmp_path, "check", "--output-format", "json")
    assert again == answer, "from the cache"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tpulint che", {"check"}),
        ("tpulint check --extend-", {"--extend-select", "--extend-exclude"}),
        ("tpulint check --certainty ", {"definite", "possible", "unlikely"}),
        ("tpulint rule --output-format m", {"markdown"}),
        ("tpulint rule TPU20", {code for code in CODES if code.startswith("TPU20")}),
        ("tpulint check --ignore TPU40", {code for code in CODES if code.startswith("TPU40")}),
        ("tpulint config certain", {"certainty"}),
        ("tpulint generate-shell-completion ", {"bash", "zsh", "fish", "powershell"}),
    ],
)
def test_bash_completes(tmp_path: Path, words: str, expected: set[str]) -> None:
    script = tpulint(tmp_path, "generate-shell-completion", "bash")
    assert script.status == 0
    (tmp_path / "completion.sh").write_text(script.out)
    typed = words.split(" ")
    typed_script = (
        "set -u; source ./completion.sh\n"
        f"COMP_WORDS=({' '.join(repr(word) for word in typed)}); COMP_CWORD={len(typed) - 1}\n"
        '_tpulint; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    answer = run(["bash", "-c", typed_script], tmp_path)
    assert answer.err == ""
    assert set(answer.out.split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_understand_their_script(tmp_path: Path, shell: str) -> None:
    script = tpulint(tmp_path, "generate-shell-completion", shell)
    assert script.status == 0
    assert "changed-since" in script.out
    assert "TPU101 TPU102" in script.out
    if shutil.which(shell):
        (tmp_path / "script").write_text(script.out)
        assert run([shell, "-n", "script"], tmp_path).status == 0


def test_powershell_completes(tmp_path: Path) -> None:
    script = tpulint(tmp_path, "generate-shell-completion", "powershell").out
    assert "$values['check:--certainty'] = @('definite', 'possible', 'unlikely')\n" in script
    assert "$values['rule:rule'] = @('TPU001', " in script
    assert script.count("{") == script.count("}")
    if shutil.which("pwsh"):  # the machines of the workflow have it
        (tmp_path / "completion.ps1").write_text(script)
        line = "tpulint check --certainty p"
        typed_script = (
            ". ./completion.ps1;"
            f" (TabExpansion2 '{line}' {len(line)}).CompletionMatches.CompletionText"
        )
        assert run(["pwsh", "-NoProfile", "-Command", typed_script], tmp_path).out.split() == [
            "possible"
        ]
