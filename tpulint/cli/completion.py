"""Completion scripts for shells, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tpulint.cli.parser import Parser


def completion(top: Parser, shell: str) -> str:
    """Return the script that completes the commands, their options and the options' values."""
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](top)


def bash(top: Parser) -> str:
    """Files complete where no option and no fixed value does."""
    cases, values = [], []
    for name, command in top.commands().items():
        words = " ".join(command.options())
        cases.append(f"    {name}) words='{words}' ;;")
        for action in command.actions():
            if action.choices and action.option_strings:
                keys = "|".join(f"{name}:{option}" for option in action.option_strings)
                values.append(f"    {keys}) words='{listed(action)}' ;;")
            elif action.choices:
                values.append(f"    {name}:{name}) words='{listed(action)}' ;;")
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
    for name, text in described(top):
        lines.append(f"    {quoted(f'{name}:{text}')}")
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then",
        "    _describe command commands",
        "    return",
    ]
    lines += ["  fi", "  local command=$words[2]", "  shift words", "  (( CURRENT-- ))"]
    lines.append("  case $command in")
    for name, command in top.commands().items():
        specs = [quoted(spec) for action in command.actions() for spec in zsh_specs(action)]
        lines.append(f"    {name}) _arguments {' '.join([*specs, quoted('*:file:_files')])} ;;")
    lines += ["  esac", "}", "compdef _tpulint tpulint", ""]
    return "\n".join(lines)


def zsh_specs(action: argparse.Action) -> Iterator[str]:
    """Yield the specifications of an option for zsh's _arguments."""
    text = (action.help or "").replace("[", "(").replace("]", ")").replace(":", "\\:")
    if action.choices:
        after = f":value:({listed(action)})"
    else:
        after = "" if action.nargs == 0 else ":value:_files"
    yield from (f"{option}[{text}]{after}" for option in action.option_strings)


def fish(top: Parser) -> str:
    lines = []
    for name, text in described(top):
        lines.append(f"complete -c tpulint -n __fish_use_subcommand -f -a {name} -d {quoted(text)}")
    for name, command in top.commands().items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for action in command.actions():
            words = [fish_option(option) for option in action.option_strings]
            if not words:
                given = f"-f -a '{listed(action)}'" if action.choices else ""
                lines += [f"complete -c tpulint {seen} {given}"] if given else []
                continue
            needs = "" if action.nargs == 0 else " -r"
            values = f" -f -a '{listed(action)}'" if action.choices else ""
            text = quoted(action.help or "")
            lines.append(f"complete -c tpulint {seen} {' '.join(words)}{needs}{values} -d {text}")
    return "\n".join(lines) + "\n"


def fish_option(option: str) -> str:
    return f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"


def described(top: Parser) -> Iterator[tuple[str, str]]:
    """Yield the commands with what they are for."""
    yield from ((name, each.description or "") for name, each in top.commands().items())


def listed(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
