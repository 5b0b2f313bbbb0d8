"""Rules and models of others, as their users meet them: installed, or in a directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from tests.integration.server.editor import editor
from tests.integration.server.editor import run as play
from tpulint import plugins
from tpulint.cli.main import main
from tpulint.codes import CODES

RULE = '''
"""{code}: tensors are dumped on the device."""

from tpulint.extend import Program, Report, Rule, Severity, certainty, device_calls, path_to_site
from tpulint.extend import register


@register
class DumpOnDevice(Rule):
    """Dumps wait for the host."""

    code = "{code}"
    name = "{name}"
    severity = Severity.WARNING
    summary = "acme.dump is called on the device"

    def check(self, program: Program, report: Report) -> None:
        for computation, call in device_calls(program):
            if call.path == "acme.dump":
                report(
                    call.site.span,
                    "`acme.dump` runs on the device: call it on the host",
                    certainty=certainty(program, computation, call.context),
                    trace=path_to_site(computation, call.context, call.site, "dumps"),
                )
'''

# The line about the function of another package that the program calls.
LEFT_OUT = "1 call was not analyzed: 1 of other packages. See `--statistics`.\n"
PROGRAM = """
import acme
import tensorflow as tf

tpu = tf.compat.v1.tpu


def computation(x):
    acme.dump(x){mark}
    return x


tpu.rewrite(computation, [tf.constant(1.0)])
"""

PAGE = """\
# ACM101 dump-on-device

## What it does
Reports acme.dump.

```python
import acme
import tensorflow as tf


def computation(x):
    acme.dump(x)  # error: ACM101
    return x


tf.compat.v1.tpu.rewrite(computation, [tf.constant(1.0)])
```
"""


@pytest.fixture(autouse=True)
def no_plugins_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    modules = set(sys.modules)
    yield
    plugins.activate(plugins.PluginOptions(installed=False))
    for name in set(sys.modules) - modules:
        if name.startswith(("acme", "_tpulint_rules")):
            del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a project with one program, in which a rule of acme's can find something."""
    folder = tmp_path / "project"
    write(folder, {"pyproject.toml": "", "step.py": PROGRAM.format(mark="")})
    monkeypatch.chdir(folder)
    return folder


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return folder


def install(
    site: Path,
    distribution: str,
    entry_points: str,
    modules: Mapping[str, str],
    version: str = "1.2",
) -> Path:
    """Lay a distribution out as pip does: its modules, and a .dist-info beside them."""
    info = f"{distribution.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    return write(
        site,
        {f"{info}/METADATA": metadata, f"{info}/entry_points.txt": entry_points, **modules},
    )


def rule(code: str = "ACM101", name: str = "dump-on-device") -> str:
    return RULE.format(code=code, name=name)


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    install(
        site,
        "acme-rules",
        "[tpulint.rules]\nacme = acme_rules.rules\n",
        {
            "acme_rules/__init__.py": "",
            "acme_rules/rules.py": rule(),
            "acme_rules/acm101_dump_on_device.md": PAGE,
        },
    )
    monkeypatch.syspath_prepend(site)
    return site


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.usefixtures("acme")
def test_an_installed_rule_is_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "check", "--no-cache", "--output-format", "concise")
    assert (status, err) == (1, "")
    assert out.startswith("step.py:9:5: ACM101 `acme.dump` runs on the device")
    for options in (["--no-plugins"], ["--isolated"], ["--ignore", "ACM"], ["--select", "TPU"]):
        assert run(capsys, "check", "--no-cache", *options)[0] == 0, options
    for option in ("ACM1", "dump-on-device", "ALL"):
        assert run(capsys, "check", "--no-cache", "--select", option)[0] == 1, option
    assert "ACM101" not in CODES or CODES["ACM101"].plugin == "acme-rules 1.2"


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("comment", ["tpulint: ignore[ACM101]", "noqa: ACM101"])
def test_comments_suppress_an_installed_rule(
    project: Path, capsys: pytest.CaptureFixture[str], comment: str
) -> None:
    (project / "step.py").write_text(PROGRAM.format(mark=f"  # {comment}"))
    assert run(capsys, "check", "--no-cache")[0] == 0
    (project / "step.py").write_text(f"import acme  # {comment}\n")
    status, out, _ = run(capsys, "check", "--no-cache")
    assert status == 1
    assert "unused suppression of 'ACM101'" in out


@pytest.mark.usefixtures("acme")
def test_every_output_knows_an_installed_rule(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tpulint.output import FOR_PEOPLE, FORMATS

    for name in FORMATS:
        status, out, err = run(capsys, "check", "--no-cache", "--output-format", name)
        assert status == 1, name
        assert err == ("" if name in FOR_PEOPLE else f"tpulint: {LEFT_OUT}"), name
        assert "ACM101" in out, name
    (row,) = json.loads(run(capsys, "check", "--no-cache", "--output-format", "json")[1])
    assert (row["plugin"], row["url"], row["severity"]) == ("acme-rules 1.2", None, "warning")
    log = json.loads(run(capsys, "check", "--no-cache", "--output-format", "sarif")[1])
    (described,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert described["properties"] == {"plugin": "acme-rules 1.2"}
    assert described["help"]["text"].startswith("# ACM101 dump-on-device")


@pytest.mark.usefixtures("acme")
def test_rule_and_explain_know_an_installed_rule(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.parent / "site/acme_rules/acm101_dump_on_device.md").rename(project / "page.md")
    assert run(capsys, "rule", "ACM101")[1].endswith("Dumps wait for the host.\n")
    (project / "page.md").rename(project.parent / "site/acme_rules/acm101_dump_on_device.md")
    assert "Reports acme.dump." in run(capsys, "rule", "dump-on-device")[1]
    assert run(capsys, "rule", "ACM101", "--no-plugins")[0] == 2
    assert "ACM101" in run(capsys, "explain", "--no-cache", "step.py:9")[1]


def test_a_code_of_two_plugins_is_an_error_that_names_both(
    acme: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(acme, "zeta", "[tpulint.rules]\nz = zeta\n", {"zeta.py": rule(name="dump-again")})
    status, out, err = run(capsys, "check", "--no-cache", "--output-format", "concise")
    assert status == 2
    assert out.startswith("step.py:9:5: ACM101")
    assert err == "tpulint: plug-in zeta 1.2: ACM101 is a code of acme-rules 1.2 already\n"
    install(acme, "zeta", "[tpulint.rules]\nz = zeta\n", {})
    (acme / "zeta.py").write_text(rule("ZET101"))
    del sys.modules["zeta"]  # as a new process begins
    err = run(capsys, "check", "--no-cache")[2]
    assert "ZET101: the name 'dump-on-device' belongs to ACM101 of acme-rules 1.2" in err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module' at "),
        ("raise SystemExit(3)\n", "SystemExit: 3 at "),
        ("def f(:\n", "SyntaxError: "),
        ("", "ValueError: no rule is registered there"),
        (rule("acme1"), "ValueError: rule DumpOnDevice: the code 'acme1' is not three capitals"),
        (rule(name="dump"), "ValueError: rule DumpOnDevice: the name 'dump' is not two or more"),
        (rule().replace("    summary", "    text"), "ValueError: rule DumpOnDevice has no `summar"),
        (rule().replace("Severity.WARNING", "'warning'"), "`severity` is not a Severity"),
        (rule().replace("def check", "def look"), "TypeError: Can't instantiate abstract class"),
        (rule("TPU999"), "TPU999: codes that begin with TPU belong to tpulint"),
    ],
)
def test_a_broken_plugin_costs_only_its_own_findings(
    acme: Path, project: Path, capsys: pytest.CaptureFixture[str], text: str, error: str
) -> None:
    module = f"acme_broken_{zlib.crc32(text.encode())}"  # another one each time
    install(acme, "broken", f"[tpulint.rules]\nb = {module}\n", {})
    (acme / f"{module}.py").write_text(text)
    status, out, err = run(capsys, "check", "--no-cache", "--output-format", "concise")
    assert status == 2
    assert out.startswith("step.py:9:5: ACM101")
    assert err.startswith("tpulint: plug-in broken 1.2: ")
    assert error in err
    assert err.count("\n") == 1


def test_a_rule_that_raises_names_its_plugin(
    acme: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (acme / "acme_rules/rules.py").write_text(
        rule().replace("if call", "1 / 0\n            if call")
    )
    status, _, err = run(capsys, "check", "--no-cache")
    assert status == 2
    assert "plug-in acme-rules 1.2: error in rule ACM101: ZeroDivisionError" in err


def test_a_directory_is_loaded_where_the_command_line_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, {"lint/rules.py": rule(), "lint/_helpers.py": "", "lint/test_rules.py": "1 / 0"})
    (project / "lint/rules.py").write_text("from . import _helpers\n" + rule())
    assert run(capsys, "check", "--no-cache", "--exclude", "lint")[0] == 0
    status, out, err = run(
        capsys, "check", "--no-cache", "--isolated", "--rules-dir", "lint", "--select", "ACM"
    )
    assert (status, err) == (1, "")
    assert "ACM101" in out
    _, _, err = run(capsys, "check", "--no-cache", "--rules-dir", "nowhere")
    assert err.startswith(f"tpulint: plug-in {project / 'nowhere'}: No such file or directory")


def test_a_project_cannot_ask_to_run_its_code(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "it_ran"
    code = f"open({str(proof)!r}, 'w').close()\n"
    write(project, {"pyproject.toml": '[tool.tpulint]\nrules-dir = ["lint"]\n'})
    write(project, {"lint/rules.py": code + rule()})
    status, out, err = run(capsys, "check", "--no-cache", "step.py")
    assert (status, out) == (0, f"Checked 1 TPU program in 1 of 1 file.\n{LEFT_OUT}")
    assert err.startswith("tpulint: warning: pyproject.toml: rules-dir: the rules in lint")
    assert "--rules-dir lint" in err
    assert not proof.exists()
    user = tmp_path / "user/tpulint/tpulint.toml"
    write(tmp_path, {"user/tpulint/tpulint.toml": f'allow-rules-dir = ["{project}"]\n'})
    assert str(user) in err
    assert run(capsys, "check", "--no-cache", "--isolated", "step.py")[0] == 0
    assert not proof.exists()
    status, out, err = run(capsys, "check", "--no-cache", "step.py")
    assert (status, err) == (1, "")
    assert "ACM101" in out
    assert proof.exists()


def test_a_link_out_of_an_allowed_directory_is_not_allowed(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"elsewhere/rules.py": rule()})
    write(tmp_path, {"user/tpulint/tpulint.toml": f'allow-rules-dir = ["{project}"]\n'})
    write(project, {"pyproject.toml": '[tool.tpulint]\nrules-dir = ["lint"]\n'})
    os.symlink(tmp_path / "elsewhere", project / "lint")
    assert "are not loaded" in run(capsys, "check", "--no-cache", "step.py")[2]


def test_the_users_configuration_sets_nothing_else(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"user/tpulint/tpulint.toml": 'select = ["TPU1"]\n'})
    status, _, err = run(capsys, "check", "--no-cache")
    assert status == 2
    assert "'select' cannot be set for all projects, only allow-rules-dir" in err


def test_cached_findings_are_those_of_the_plugin_that_is_there(
    acme: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, {"lint/rules.py": rule("ACM102", "other-dump")})
    codes = ["ACM101"]
    for options, expected in (
        ([], codes),
        (["--no-plugins"], []),
        (["--rules-dir", "lint"], ["ACM101", "ACM102"]),
        ([], codes),
    ):
        for _ in range(2):
            out = run(capsys, "check", "--output-format", "json", "step.py", *options)[1]
            assert [row["code"] for row in json.loads(out)] == expected
    path = project / "lint/rules.py"
    path.write_text(path.read_text().replace("`acme.dump` runs", "`acme.dump` still runs"))
    for name in [name for name in sys.modules if name.startswith("_tpulint_rules")]:
        del sys.modules[name]
    out = run(capsys, "check", "step.py", "--rules-dir", "lint")[1]
    assert "still runs" in out


@pytest.mark.usefixtures("acme")
def test_flake8_reports_an_installed_rule(project: Path) -> None:
    from tpulint.check import per_file

    data = (project / "step.py").read_bytes()
    answer = per_file.check("step.py", data)
    assert [finding.code for finding in answer.findings] == ["ACM101"]


def test_the_pages_of_a_plugin_are_tests(acme: Path, tmp_path: Path) -> None:
    tests = f"from tpulint.testing import page_tests\n\ntest_pages = page_tests({str(acme)!r})\n"
    write(tmp_path, {"tests/test_rules.py": tests})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    environment = {**os.environ, "PYTHONPATH": str(acme)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    page = acme / "acme_rules/acm101_dump_on_device.md"
    page.write_text(PAGE.replace("  # error: ACM101", ""))
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert ">  example.py:6  -         ACM101 definite" in done.stdout


def test_a_new_rule_passes_its_test_and_is_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["new-rule", "ACM103", "new-fault", "a new fault.", "--directory", "lint"]
    status, out, err = run(capsys, *command)
    assert (status, err) == (0, "")
    names = ["acm103_new_fault.md", "acm103_new_fault.py", "test_rules.py"]
    assert sorted(os.listdir("lint")) == names
    assert all(f"written: lint/{name}" in out for name in names)
    assert run(capsys, *command)[1].count("exists: ") == 3
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "lint"]
    done = subprocess.run(tests, cwd=project, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout
    (project / "step.py").write_text(
        PROGRAM.format(mark="")
        .replace("acme.dump", "acme.my_function")
        .replace("acme", "my_package")
    )
    out = run(capsys, "check", "--no-cache", "--rules-dir", "lint", "--certainty", "possible")[1]
    assert "ACM103 new-fault: `my_package.my_function` runs on the device" in out


@pytest.mark.parametrize(
    ("code", "name"), [("TPU990", "a-b"), ("abc101", "a-b"), ("ABC1", "a-b"), ("ABC101", "One")]
)
def test_a_new_rule_needs_a_code_and_a_name(
    project: Path, capsys: pytest.CaptureFixture[str], code: str, name: str
) -> None:
    status, _, err = run(capsys, "new-rule", code, name, "summary")
    assert status == 2
    assert err.startswith("tpulint: new-rule: ")
    assert not (project / "tpulint_rules").exists()


HELPED = """
import acme
import tensorflow as tf


def log(x):
    tf.strings.as_string(x)
    return x


def step(x):
    tf.strings.as_string(x)
    return acme.on_host(log, x)


acme.on_tpu(step, tf.constant(1.0))
"""

ROWS = """
[[call]]
names = ["acme.on_host"]
calls = "host"

[[call]]
names = ["acme.on_tpu"]
calls = "device"
why = "acme/tpu.py wraps TPUStrategy.run"
"""

MODELS = """
from tpulint.extend import Call, Value, model, run_on_device, run_on_host


@model("acme.on_host", seam=True)
def on_host(call: Call) -> Value:
    return run_on_host(call)


@model("acme.on_tpu", seam=True)
def on_tpu(call: Call) -> Value:
    return run_on_device(call)
"""


@pytest.fixture
def helped(project: Path) -> Path:
    """Change to a project that uses TPUs by a helper library alone."""
    (project / "step.py").write_text(HELPED)
    return project


def test_a_helper_library_is_described_by_rows(
    helped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "check", "--output-format", "concise")[0] == 0
    write(helped, {"pyproject.toml": '[tool.tpulint]\nmodels = ["lint/models.toml"]\n'})
    write(helped, {"lint/models.toml": ROWS})
    status, out, err = run(capsys, "check", "--output-format", "concise")
    assert (status, err) == (1, "")
    assert out.startswith("step.py:12:5: TPU501 ")
    assert out.endswith("Found 1 error.\n")
    # The rows are part of what cached findings depend on.
    write(helped, {"lint/models.toml": ROWS.replace("acme.on_tpu", "acme.other")})
    assert run(capsys, "check", "--output-format", "concise")[0] == 0
    assert run(capsys, "check", "--isolated")[0] == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[[call]]\nnames = 1\n", "`names` is a list of one or more dotted names"),
        ('[[call]]\nnames = ["a.b"]\ncalls = "gpu"\n', "calls = 'gpu' of a.b; one of: branches,"),
        ("[[call]\n", "models.toml: "),
        (None, "models.toml: cannot read: No such file or directory"),
    ],
)
def test_rows_that_make_no_sense_are_an_error(
    helped: Path, capsys: pytest.CaptureFixture[str], text: str | None, error: str
) -> None:
    write(helped, {"pyproject.toml": '[tool.tpulint]\nmodels = ["models.toml"]\n'})
    if text is not None:
        (helped / "models.toml").write_text(text)
    status, _, err = run(capsys, "check", "--no-cache")
    assert status == 2
    assert error in err
    assert err.count("\n") == 1


def test_a_helper_library_is_described_by_installed_models(
    helped: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = install(
        tmp_path / "site",
        "acme",
        "[tpulint.models]\nacme = acme_models\n",
        {"acme_models.py": MODELS},
    )
    monkeypatch.syspath_prepend(site)
    status, out, err = run(capsys, "check", "--output-format", "concise")
    assert (status, err) == (1, "")
    assert out.startswith("step.py:12:5: TPU501 ")
    assert out.endswith("Found 1 error.\n")
    assert run(capsys, "check", "--no-plugins")[0] == 0
    monkeypatch.undo()
    monkeypatch.chdir(helped)
    write(helped, {"lint/models.py": MODELS})
    assert run(capsys, "check", "step.py")[0] == 0
    assert run(capsys, "check", "step.py", "--rules-dir", "lint")[0] == 1


def test_an_editor_shows_an_installed_rule(acme: Path, project: Path) -> None:
    async def scenario() -> None:
        text = PROGRAM.format(mark="  # tpulint: ignore[ACM102]")
        (project / "step.py").write_text(text)
        async with editor(project, path=[acme]) as it:
            uri = it.open(project / "step.py")
            assert ("ACM101", 9) in await it.found(uri)
            (project / "step.py").write_text(text.replace("ACM102", "ACM101"))
            it.edit(uri, text.replace("ACM102", "ACM101"))
            column = len("    acme.dump(x)  # tpulint: ignore[ACM")
            assert "Reports acme.dump." in (await it.hover(uri, 9, column) or "")
            assert await it.found(uri) == []

    play(scenario)


def test_a_repository_is_not_an_installed_package(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m flake8` finds modules, and what looks installed, in the working directory."""
    from tpulint.check import per_file

    proof = tmp_path / "it_ran"
    code = f"open({str(proof)!r}, 'w').close()\n"
    install(project, "acme-own", "[tpulint.rules]\nown = acme_own\n", {"acme_own.py": code})
    write(project, {"acme_other.py": code})
    entry_point = "[tpulint.rules]\nother = acme_other\n"
    site = install(tmp_path / "site", "other", entry_point, {"acme_other.py": rule()})
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(project)
    monkeypatch.syspath_prepend("")
    answer = per_file.check("step.py", (project / "step.py").read_bytes())
    assert [finding.code for finding in answer.findings] == ["ACM101"]
    assert not proof.exists()
    assert sys.path[:2] == ["", str(project)]
