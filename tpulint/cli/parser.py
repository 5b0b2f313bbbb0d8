"""argparse with one line for a mistake: it names the nearest right option of the command in use."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any, NoReturn

from tpulint.config.readers import nearest


class Help(argparse.HelpFormatter):
    """A help formatter with a given width, for argparse makes one for every option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns())


def columns() -> int:
    """Return the width of the help text, as argparse would choose it."""
    try:
        width = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        width = 80
    return width - 2


class Parser(argparse.ArgumentParser):
    """Options are written out in full, as with ruff: a new one cannot change what a script says."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=Help, allow_abbrev=False, **given)

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
        import re

        unknown = re.search(r"unrecognized arguments: (-[\w-]+)", message)
        if unknown:
            return nearest(unknown[1], self.options(), 0.65)
        wrong = re.search(r"invalid choice: '?([^' ]+)'?", message)
        choices = [str(word) for action in self._actions for word in action.choices or ()]
        return nearest(wrong[1], choices) if wrong else ""

    def options(self) -> list[str]:
        return [word for action in self._actions for word in action.option_strings]

    def actions(self) -> list[argparse.Action]:
        """Return the options and arguments that are not hidden."""
        return [each for each in self._actions if each.help != argparse.SUPPRESS]

    def groups(self) -> dict[str, list[argparse.Action]]:
        """Return the options by the title of their group, without --help's."""
        return {
            str(group.title): [each for each in group._group_actions if each.option_strings]
            for group in self._action_groups[2:]
        }

    def commands(self) -> dict[str, Parser]:
        """Return the parsers of the commands below this one, by name."""
        choices = (action.choices for action in self._actions if isinstance(action.choices, dict))
        return {
            name: each
            for group in choices
            for name, each in group.items()
            if isinstance(each, Parser)
        }
