"""IPython's own lines and cells of a notebook that runs as a program.

What changes where a program reads and writes is done in Python: `mkdir`, `cd`, `ls`, `pwd`, `env`
and `%%writefile`. No shell is started. The other commands were written for the machine of Colab or
Kaggle: they install packages there, and download and delete files.
"""

from __future__ import annotations

import importlib
import itertools
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tpulint.notebook import STAND_IN, first_row, is_python, problem_of, restored

CALL = "__tpulint_command__"
"""The name in the notebook's module by which its cells call what stands for a command."""
# They change how a notebook looks, or how IPython works: a program does not miss them.
OF_THE_DISPLAY = frozenset(["autoreload", "config", "load_ext", "matplotlib", "reload_ext"])
# A word of a shell that is more than a word: a pipe, a list of commands, a pattern.
SHELL_SYNTAX = re.compile(r"[|&;<>`*?\[\](){}$]")
EXPRESSION = re.compile(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)")
SIGN = re.compile(r"^([%!]+)\s+")
FLAG = re.compile(r"-.")
FLAGS = frozenset(["-p", "--parents", "-v", "-1", "-A", "-a", "-l", "-h", "-al", "-la", "-lh"])
PRIVATE = 0xE000  # Unicode gives these characters no meaning
INSTALLATION = re.compile(r"[!%]?(?:pip3?|conda|mamba|python3? -m pip)\s+install\b")
MEASURED = re.compile(r"%(?:time|timeit|prun|memit)\s+(?!-)(?=\S)")


class Commands:
    """The commands of a notebook.

    `skip` is told the cell and the text of those that are left out, `note` what the report should
    say of them.
    """

    def __init__(self, skip: Callable[[int, str], None], note: Callable[[str], None]) -> None:
        self._skip = skip
        self._note = note
        self._seen: set[tuple[int, str]] = set()
        self._installations: list[str] = []
        self._work: dict[str, Callable[[Sequence[str]], str]] = {
            "%cd": _change_folder,
            "%env": _set_variable,
            "%ls": _list_folders,
            "%mkdir": _make_folders,
            "%pwd": _folder,
            "%set_env": _set_variable,
            "!ls": _list_folders,
            "!mkdir": _make_folders,
            "!pwd": _folder,
        }

    def python_of(self, number: int, text: str) -> str:
        """Return the text of a cell in which its commands are calls, row by row."""
        lines = text.split("\n")
        written = [restored(line) for line in lines]
        if is_python("\n".join(written)):
            return "\n".join(_python_lines(number, lines))
        first = first_row(written)
        cell = "\n".join(written[first + 1 :])
        lines[first] = _call(number, written[first].strip(), cell=cell)
        return "\n".join(lines)

    def do(
        self, number: int, command: str, names: Mapping[str, Any], *, cell: str, is_assigned: bool
    ) -> object:
        """Do what the command asks for, or tell that it is left out; return what it prints.

        cell: the other lines of the cell, if the command is for them.
        """
        if not command or command.endswith("?") or command.startswith("?"):
            return None
        command = SIGN.sub(r"\1", command)
        words = _words(command, names)
        name = words[0] if words else command.split()[0]
        if name[0] not in "%!":
            name = f"%{name}"  # IPython takes it without a sign, too
        if name in ("%%writefile", "%%file") and len(words) > 1:
            _write_file(words[1:], cell)
            return None
        is_known = FLAGS.issuperset(word for word in words if FLAG.match(word))
        if words and name in self._work and is_known:
            try:
                output = self._work[name](words[1:])
            except OSError as error:  # IPython goes on with the next line
                output = f"{name[1:]}: {error.filename}: {error.strerror}"
            if not is_assigned:
                print(output, end="\n" if output else "")
                return None
            return output.splitlines() if name[0] == "!" else output
        if name == "%tensorflow_version":
            if not words[1:2] or not words[1].startswith("1"):
                return None
            self._note(f"cell {number}: `{command}`: tpulint runs programs on TensorFlow 2")
        # The other lines of some cells are Python, and run as such.
        elif name.lstrip("%") not in OF_THE_DISPLAY and not (name[:2] == "%%" and is_python(name)):
            self._leave_out(number, command, words)
        return None

    def note_missing(self, module: str) -> None:
        """Note that a module is missing that the notebook may have wanted to install."""
        for installation in self._installations:
            self._note(f"{installation} was not run, and `{module}` is missing: install it")

    def _leave_out(self, number: int, command: str, words: Sequence[str]) -> None:
        if (number, command) in self._seen:
            return
        self._seen.add((number, command))
        self._skip(number, command)
        if INSTALLATION.match(command):
            self._installations.append(f"cell {number}: `{command}`")
        place = _downloaded_to(words)
        if place and not os.path.exists(place):
            self._note(f"cell {number}: `{command}` was not run: put what it downloads at {place}")


def _python_lines(number: int, lines: Sequence[str]) -> Iterator[str]:
    rows = iter(lines)
    for line in rows:
        if (stand_in := STAND_IN.search(line)) is None:
            yield line
            continue
        before, command = line[: stand_in.start()], line[stand_in.end() :].strip()
        continuations = []
        while command.endswith("\\"):
            continuations.append(next(rows, ""))
            command = f"{command[:-1].rstrip()} {restored(continuations[-1]).strip()}"
        measured = MEASURED.match(command)
        if measured and problem_of(command[measured.end() :]) is None:
            yield before + command[measured.end() :]
        elif command.startswith("#"):  # a blank for students
            yield line
        else:
            is_assigned = stand_in.group().startswith("None")
            yield before + _call(number, command, is_assigned=is_assigned)
        yield from continuations


def _call(number: int, command: str, *, cell: str = "", is_assigned: bool = False) -> str:
    """Return the call of `Commands.do`, on one line."""
    names = "{**globals(), **locals()}"
    return f"{CALL}({number}, {command!r}, {names}, {cell=}, {is_assigned=})"


def _words(command: str, names: Mapping[str, Any]) -> list[str]:
    """Return the words of a command with its variables; none if a shell would do more with it."""
    values: list[str] = []

    def stand_for(match: re.Match[str]) -> str:
        if (name := match[2]) is None:
            result = eval(match[1], dict(names))
        else:
            result = names[name] if name in names else os.environ[name]
        if not isinstance(result, (str, int, os.PathLike)):
            raise TypeError(name)
        values.append(str(result))
        return chr(PRIVATE + len(values) - 1)  # one word stays one, with blanks in it, too

    try:
        words = shlex.split(EXPRESSION.sub(stand_for, command), comments=True)
    except Exception:  # the shell's own braces, or a variable that nobody has set
        return []
    if SHELL_SYNTAX.search(" ".join(word for word in words if "://" not in word)):
        return []
    values_of = {PRIVATE + number: value for number, value in enumerate(values)}
    return [os.path.expanduser(word.translate(values_of)) for word in words]


def _downloaded_to(words: Sequence[str]) -> str:
    """Return what `wget`, `curl` or a copy out of a bucket makes; "" for another command."""
    name, *rest = words or ("",)
    if name == "!gsutil" or (name == "!gcloud" and rest[:1] == ["storage"]):
        return _copied_to(rest)
    if name not in ("!wget", "!curl"):
        return ""
    values = dict(itertools.pairwise(rest))
    own = "-O" if name == "!wget" else "-o"
    for flag in (own, "--output-document", "--output"):
        if flag in values:
            return values[flag]
    addresses = [word for word in rest if "://" in word]
    if not addresses or not (name == "!wget" or "-O" in rest):
        return ""
    return os.path.join(values.get("-P", ""), addresses[0].partition("?")[0].rpartition("/")[2])


def _copied_to(words: Sequence[str]) -> str:
    """Return what `gsutil cp` and its successor copy out of a bucket; "" for another command."""
    if "cp" not in words:
        return ""
    options = [word for word in words if word.startswith("-")]
    paths = [word for word in words[words.index("cp") + 1 :] if not word.startswith("-")]
    if len(paths) != 2 or not paths[0].startswith("gs://") or "://" in paths[1]:
        return ""
    source, target = paths
    is_file = "*" not in source and not {"-r", "-R", "--recursive"} & set(options)
    if is_file and (target.endswith("/") or os.path.isdir(target)):
        return os.path.normpath(os.path.join(target, source.rpartition("/")[2]))
    return target


# The commands: each is given its words, and returns what it prints.


def _make_folders(words: Sequence[str]) -> str:
    make = os.makedirs if {"-p", "--parents"} & set(words) else os.mkdir
    for word in words:
        if not word.startswith("-") and not (make is os.makedirs and os.path.isdir(word)):
            make(word)
    return ""


def _folder(_: Sequence[str]) -> str:
    return os.getcwd()


def _change_folder(words: Sequence[str]) -> str:
    os.chdir(words[0] if words else os.path.expanduser("~"))
    return os.getcwd()


def _list_folders(words: Sequence[str]) -> str:
    lines: list[str] = []
    for place in [word for word in words if not word.startswith("-")] or ["."]:
        try:
            os.stat(place)  # an error if it is not there
            names = sorted(os.listdir(place)) if os.path.isdir(place) else [place]
            lines += [name for name in names if not name.startswith(".")]
        except OSError as error:
            lines.append(f"ls: cannot access '{place}': {error.strerror}")
    return "\n".join(lines)


def _set_variable(words: Sequence[str]) -> str:
    if not words:
        return "\n".join(f"{name}={value}" for name, value in sorted(os.environ.items()))
    name, sign, value = words[0].partition("=")
    if not sign and not words[1:]:
        return os.environ.get(name, "")
    os.environ[name] = " ".join([value, *words[1:]] if sign else words[1:])
    return ""


def _write_file(words: Sequence[str], cell: str) -> None:
    mode = "a" if words[0] in ("-a", "--append") else "w"
    with open(words[-1], mode, encoding="utf-8") as file:
        file.write(cell if cell.endswith("\n") else f"{cell}\n")
    importlib.invalidate_caches()  # it may be a module, which the next cell imports
