"""The files that a run looks at."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tpulint.check.discover import Discovery, discover
from tpulint.config import Config
from tpulint.config.files import Closest


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(
    *paths: str, exclude: Iterable[str] | None = None, root: str = ".", force: bool = False
) -> Discovery:
    config = Config(os.path.abspath(root), exclude=None if exclude is None else tuple(exclude))
    return discover(paths or (".",), closest=Closest(root, config), force_exclude=force)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_stubs_and_notebooks_in_a_fixed_order(here: Path) -> None:
    tree(here, "b.py", "a/z.pyi", "a/b/n.ipynb", "a.py", "a/b.txt", "py", "A.py")
    assert found().filenames == ("A.py", "a.py", "a/b/n.ipynb", "a/z.pyi", "b.py")


def test_paths_outside_are_absolute_and_doubles_come_once(here: Path) -> None:
    tree(here, "in/a.py", "out/b.py")
    os.chdir(here / "in")
    assert found(".", "a.py", "../out", "./a.py").filenames == ("a.py", str(here / "out/b.py"))


def test_default_excludes(here: Path) -> None:
    tree(here, "venv/a.py", ".git/b.py", "x/node_modules/c.py", "dist/d.py", "x/y.py", ".x/h.py")
    assert found().filenames == (".x/h.py", "x/y.py")


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("third_party", ["a.py", "x/gen_a.py"]),
        ("gen_*.py", ["a.py", "third_party/b.py", "x/third_party/c.py"]),
        ("x/third_party", ["a.py", "third_party/b.py", "x/gen_a.py"]),
        ("x/*", ["a.py", "third_party/b.py"]),
        ("./x/", ["a.py", "third_party/b.py"]),
    ],
)
def test_exclude_patterns(here: Path, pattern: str, left: list[str]) -> None:
    tree(here, "a.py", "x/gen_a.py", "third_party/b.py", "x/third_party/c.py")
    assert list(found(exclude=[pattern], root=str(here)).filenames) == left


def test_exclude_takes_the_place_of_the_defaults(here: Path) -> None:
    tree(here, "venv/a.py")
    assert found(exclude=[]).filenames == ("venv/a.py",)


def test_gitignore_nested_negated_anchored(here: Path) -> None:
    tree(here, "gen/a.py", "x/gen/b.py", "x/keep_me.py", "x/other.py", "y/deep/c.py", "d.py")
    (here / ".gitignore").write_text("/gen/\n*_me.py\n# d.py\n")
    (here / "x" / ".gitignore").write_text("!keep_me.py\nother.py\n")
    (here / "y" / ".gitignore").write_text("deep\n")
    assert found().filenames == ("d.py", "x/gen/b.py", "x/keep_me.py")


def test_gitignore_lines_that_are_no_pattern_ignore_nothing(here: Path) -> None:
    tree(here, "a.py", "b.py", "c.py")
    (here / ".gitignore").write_text("from x import a, \\\n?.py\n!\na.py\\\n!a.py\nx\n")
    assert found().filenames == ("a.py",)


def test_gitignore_above_counts_up_to_the_repository_only(here: Path) -> None:
    tree(here, "repo/sub/a.py", "repo/sub/b.py", "repo/sub/c.py", "repo/.git/info/exclude")
    (here / ".gitignore").write_text("a.py\n")
    (here / "repo/.gitignore").write_text("sub/b.py\n")
    (here / "repo/.git/info/exclude").write_text("c.py\n")
    assert found("repo/sub").filenames == ("repo/sub/a.py",)


@pytest.mark.parametrize("pattern", ["gen/", "/gen", "*", "gen/sub/"])
def test_missed_alarm_a_named_directory_is_walked_although_git_ignores_it(
    here: Path, pattern: str
) -> None:
    tree(here, "repo/.git/HEAD", "repo/gen/sub/a.py", "repo/gen/sub/out/b.py")
    (here / "repo/.gitignore").write_text(f"{pattern}\n")
    (here / "repo/gen/sub/.gitignore").write_text("out\n")
    assert found("repo/gen/sub").filenames == ("repo/gen/sub/a.py",)
    assert found("repo").filenames == ()


def test_named_files_are_taken_unless_forced_out(here: Path) -> None:
    tree(here, "venv/a.py", "script")
    (here / ".gitignore").write_text("venv\n")
    named = found("venv/a.py", "script")
    assert named.filenames == ("script", "venv/a.py")
    assert named.named == {"script", "venv/a.py"}
    assert found("venv/a.py", "script", force=True).filenames == ("script",)


def test_symbolic_links(here: Path) -> None:
    tree(here, "a/real.py", "out.txt")
    (here / "a/loop").symlink_to(here / "a", target_is_directory=True)
    (here / "a/self.py").symlink_to("self.py")
    (here / "a/dangling.py").symlink_to("nowhere.py")
    (here / "a/link.py").symlink_to("real.py")
    (here / "to_a").symlink_to("a", target_is_directory=True)
    assert found().filenames == ("a/link.py", "a/real.py")
    assert found("to_a").filenames == ("to_a/link.py", "to_a/real.py")


def test_missing_paths_are_named_and_the_others_found(here: Path) -> None:
    tree(here, "a.py")
    discovery = found("gone", "a.py")
    assert discovery.filenames == ("a.py",)
    assert discovery.unread == (("gone", "no such file or directory"),)


def test_a_directory_that_cannot_be_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(here, "a.py", "locked/b.py", "z/c.py")
    scan = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    discovery = found()
    assert discovery.filenames == ("a.py", "z/c.py")
    assert discovery.unread == (("locked", "cannot read the directory: Permission denied"),)
    assert found(".", "locked").unread == discovery.unread, "reported once"


def test_a_directory_that_vanishes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(here, "a.py", "soon/b.py")
    scan = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("soon"):
            (here / "soon/b.py").unlink()
            (here / "soon").rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    discovery = found()
    assert discovery.filenames == ("a.py",)
    assert "cannot read the directory: No such file" in discovery.unread[0].reason


def test_names_that_are_no_unicode(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    tree(here, name)
    assert found().filenames == (name,)


def test_each_directory_excludes_what_its_closest_configuration_says(here: Path) -> None:
    tree(here, "a.py", "gen/b.py", "sub/gen/c.py", "sub/old/d.py", "sub/old/e/f.py")
    (here / "tpulint.toml").write_text('extend-exclude = ["gen"]\n')
    (here / "sub/pyproject.toml").write_text('[tool.tpulint]\nexclude = ["old/*"]\n')
    (here / "pyproject.toml").write_text("[tool.tpulint]\nnonsense = 1\n")  # tpulint.toml counts
    closest = Closest(".")
    assert discover(["."], closest=closest, force_exclude=False).filenames == (
        "a.py",
        "sub/gen/c.py",
    )
    named = ["a.py", "gen/b.py", "sub/gen/c.py", "sub/old/d.py"]
    assert discover(named, closest=closest, force_exclude=True).filenames == (
        "a.py",
        "sub/gen/c.py",
    )


def test_what_is_excluded_above_stays_so_below_its_own_configuration(here: Path) -> None:
    tree(here, "venv/lib/a.py", "b.py")
    (here / "tpulint.toml").write_text("")
    (here / "venv/lib/tpulint.toml").write_text("exclude = []\n")
    closest = Closest(".")
    assert discover(["venv/lib/a.py", "b.py"], closest=closest, force_exclude=True).filenames == (
        "b.py",
    )


def test_the_name_of_the_root_excludes_nothing(here: Path) -> None:
    tree(here, "dist/a.py")
    os.chdir(here / "dist")
    assert discover(["a.py"], closest=Closest("."), force_exclude=True).filenames == ("a.py",)
