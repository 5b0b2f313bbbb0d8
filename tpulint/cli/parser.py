"""An argument parser whose errors suggest the nearest option, and completion scripts from it."""

from __future__ import annotations

import argparse
import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from tpulint.codes import CODES
from tpulint.config.keys import KEYS
from tpulint.config.readers import nearest


def columns() -> int:
    """Return the width of the help text, as argparse would choose it."""
    width = os.environ.get("COLUMNS", "")
    if width.isdecimal() and int(width):
        return int(width) - 2
    try:
        return (os.get_terminal_size().columns or 80) - 2
    except OSError:
        return 78


class Parser(argparse.ArgumentParser):
    """Options are written out in full, as with ruff: a new one cannot change what a script says."""

    def __init__(self, **options: Any) -> None:
        # The width is given, for argparse makes a formatter for every option.
        formatter = functools.partial(argparse.HelpFormatter, width=columns())
        super().__init__(formatter_class=formatter, allow_abbrev=False, **options)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:  # here, and not in the parser above, which knows other options
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tpulint: {message}{self.hint(message)}\n")

    def hint(self, message: str) -> str:
        if unknown := re.search(r"unrecognized arguments: (-[\w-]+)", message):
            return nearest(unknown[1], self.options(), 0.65)
        wrong = re.search(r"invalid choice: '?([^' ]+)'? \(choose from (.*)\)", message)
        return nearest(wrong[1], re.findall(r"[\w-]+", wrong[2]), 0.6) if wrong else ""

    def options(self) -> list[str]:
        return [word for action in self._actions for word in action.option_strings]

    def actions(self) -> list[argparse.Action]:
        """Return the options and arguments that are not hidden."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]

    def groups(self) -> dict[str, list[argparse.Action]]:
        """Return the options by the title of their group, without --help's."""
        return {
            str(group.title): [action for action in group._group_actions if action.option_strings]
            for group in self._action_groups[2:]
        }

    def commands(self) -> dict[str, Parser]:
        """Return the parsers of the commands below this one, by name."""
        return {
            name: parser
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
            for name, parser in action.choices.items()
        }


# Completion scripts for shells, made from the parsers themselves.


def completion(top: Parser, shell: str) -> str:
    """Return the script that completes the commands, their options and the options' values."""
    return {"bash": bash, "zsh": zsh, "fish": fish, "powershell": powershell}[shell](top)


def bash(top: Parser) -> str:
    """Files complete where no option and no fixed value does."""
    cases, values = [], []
    for name, command in top.commands().items():
        words = " ".join(command.options())
        cases.append(f"    {name}) words='{words}' ;;")
        for action in command.actions():
            if not choices_text(action):
                continue
            keys = "|".join(f"{name}:{word}" for word in action.option_strings or [name])
            values.append(f"    {keys}) words='{choices_text(action)}' ;;")
    commands = " ".join(top.commands())
    return "\n".join(
        [
            "_tpulint() {",
            "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
            "  local command=${COMP_WORDS[1]} words=",
            "  COMPREPLY=()",
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f"    COMPREPLY=($(compgen -W '{commands} --help --version' -- \"$current\"))",
            "    return",
            "  fi",
            '  case "$command:$before" in',
            *values,
            "  esac",
            '  if [ -z "$words" ] && [ "${current:0:1}" = - ]; then',
            '    case "$command" in',
            *(f"  {case}" for case in cases),
            "    esac",
            "  fi",
            '  [ -n "$words" ] && COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o default -F _tpulint tpulint",
            "",
        ]
    )


def zsh(top: Parser) -> str:
    lines = ["#compdef tpulint", "_tpulint() {", "  local -a commands", "  commands=("]
    for name, command in top.commands().items():
        lines.append(f"    {quoted(f'{name}:{command.description}')}")
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands"]
    lines += ["    return", "  fi", "  local command=$words[2]", "  shift words"]
    lines += ["  (( CURRENT-- ))", "  case $command in"]
    for name, command in top.commands().items():
        specs = [quoted(spec) for action in command.actions() for spec in zsh_specs(action)]
        specs += [
            quoted(f"1:{action.dest}:({choices_text(action)})")
            for action in command.actions()
            if not action.option_strings and choices_text(action)
        ]
        lines.append(f"    {name}) _arguments {' '.join([*specs, quoted('*:file:_files')])} ;;")
    lines += ["  esac", "}", "compdef _tpulint tpulint", ""]
    return "\n".join(lines)


def zsh_specs(action: argparse.Action) -> Iterator[str]:
    text = (action.help or "").replace("[", "(").replace("]", ")").replace(":", "\\:")
    if choices_text(action):
        after = f":value:({choices_text(action)})"
    else:
        after = "" if action.nargs == 0 else ":value:_files"
    yield from (f"{option}[{text}]{after}" for option in action.option_strings)


def fish(top: Parser) -> str:
    lines = []
    for name, command in top.commands().items():
        text = quoted(command.description or "")
        lines.append(f"complete -c tpulint -n __fish_use_subcommand -f -a {name} -d {text}")
    for name, command in top.commands().items():
        seen = f"complete -c tpulint -n '__fish_seen_subcommand_from {name}'"
        for action in command.actions():
            values = f" -f -a '{choices_text(action)}'" if choices_text(action) else ""
            words = "".join(
                f" -l {option[2:]}" if option.startswith("--") else f" -s {option[1:]}"
                for option in action.option_strings
            )
            if words:
                needs = "" if action.nargs == 0 else " -r"
                lines.append(f"{seen}{words}{needs}{values} -d {quoted(action.help or '')}")
            elif values:
                lines.append(f"{seen}{values}")
    return "\n".join(lines) + "\n"


def powershell(top: Parser) -> str:
    """Files complete where the script has nothing, as PowerShell does by itself."""
    values = {
        f"{name}:{word}": choices_text(action).split()
        for name, command in top.commands().items()
        for action in command.actions()
        if choices_text(action)
        for word in action.option_strings or [name]
    }
    # Keys of a hashtable literal that differ in case alone are an error: hence this kind of one.
    table = "  $values = [System.Collections.Generic.Dictionary[string,string[]]]::new()"
    commands = array([*top.commands(), "--help", "--version"])
    rows = top.commands().items()
    options = [f"    {quoted(name)} {{ {array(row.options())} }}" for name, row in rows]
    return "\n".join(
        [
            "Register-ArgumentCompleter -Native -CommandName tpulint -ScriptBlock {",
            "  param($current, $line, $cursor)",
            table,
            *(f"  $values[{quoted(key)}] = {array(words)}" for key, words in values.items()),
            "  $typed = @($line.CommandElements | ForEach-Object { $_.ToString() })",
            "  if ($current -ne '') { $typed = @($typed | Select-Object -SkipLast 1) }",
            "  $command = if ($typed.Count -gt 1) { $typed[1] } else { '' }",
            '  $key = "${command}:$($typed[-1])"',
            f"  $words = if (-not $command) {{ {commands} }}",
            "  elseif ($values.ContainsKey($key)) { $values[$key] }",
            "  elseif ($current -like '-*') { switch ($command) {",
            *options,
            "  } }",
            '  $words | Where-Object { $_ -like "$current*" } | ForEach-Object {',
            "    $kind = 'ParameterValue'",
            "    [System.Management.Automation.CompletionResult]::new($_, $_, $kind, $_)",
            "  }",
            "}",
            "",
        ]
    )


def array(words: Iterable[str]) -> str:
    return f"@({', '.join(quoted(word) for word in words)})"


def choices_text(action: argparse.Action) -> str:
    """Return the values of an option or an argument: those that are fixed, codes, or keys."""
    if action.choices:
        return " ".join(map(str, action.choices))
    if action.metavar in ("CODE", "CODES"):
        return " ".join(CODES)
    return " ".join(KEYS) if action.metavar == "PATH|KEY" else ""


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
