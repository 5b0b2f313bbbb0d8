"""The smaller commands, most of which hand over to a feature.

They are not in the features' own directories, so that no feature imports the command line.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys

from tpulint.cache_dir import clear, is_ours
from tpulint.check.request import cache_place
from tpulint.cli.report import colored, print_messages, width, write_output
from tpulint.cli.request import activate, closest, print_problems, request_of_file
from tpulint.codes import SHAPE
from tpulint.config import ConfigError
from tpulint.config.keys import KEYS, schema_text
from tpulint.config.readers import nearest
from tpulint.disk import OWN_FILE_LIMIT_BYTES, package_text, read_regular
from tpulint.installation import install
from tpulint.output.context import RenderContext
from tpulint.output.json import Unmergeable, merged
from tpulint.plugins import KEBAB_CASE, RESERVED

# `tpulint explain`: from a directory or PATH[:LINE] to the account of the analysis.


def explain(options: argparse.Namespace) -> int:
    """Print what the analysis saw of a project, of a file or at a line."""
    from tpulint.explain.explanation import as_json, explanation_text

    path, digits = split_place(options.place, ROW)
    row = None if digits is None else int(digits)
    is_project = row is None and os.path.isdir(path)
    is_json = options.output_format == "json"
    request = request_of_file("explain", options, path, is_project=is_project)
    if is_project:
        from tpulint.explain.project import explain_project, project_text

        project = explain_project(request)
        sys.stdout.write(as_json(project) if is_json else project_text(project))
    else:
        from tpulint.explain.account import explain

        explanation = explain(request, row)
        sys.stdout.write(as_json(explanation) if is_json else explanation_text(explanation))
    return 0


ROW = re.compile(r"(.+?):(\d+)(?::\d+)?:?")  # PATH:LINE or PATH:LINE:COLUMN, as findings have it
FUNCTION = re.compile(r"(.+):([A-Za-z_][\w.]*)")


def split_place(place: str, pattern: re.Pattern[str]) -> tuple[str, str | None]:
    """Return the path of a place, and its row or function; a path that exists has neither."""
    match = None if os.path.lexists(place) else pattern.fullmatch(place)
    return (match[1], match[2]) if match else (place, None)


# `tpulint map`: from PATH[:FUNCTION] to the picture of a program.


def draw(options: argparse.Namespace) -> int:
    from tpulint.map.draw import draw
    from tpulint.map.pictures import load

    path, function = split_place(options.place, FUNCTION)
    request = request_of_file("map", options, path)
    drawn = draw(request, function)
    print_messages(drawn.messages)
    context = RenderContext(os.getcwd(), drawn.sources, color=colored(options), width=width())
    written = load(options.output_format)(drawn.program, context)
    write_output(options, written, sys.stdout)
    return 0


# `tpulint merge`: one report made of those that the shards of a run wrote.


def merge(options: argparse.Namespace) -> int:
    """Write the merged report; the answer is 1 where it holds findings, as that of a check."""
    print_problems(activate(options, "."))
    texts = []
    for path in options.reports:
        try:
            data = read_regular(path, OWN_FILE_LIMIT_BYTES)
        except OSError as error:
            raise ConfigError(f"merge: {path}: cannot be read: {error.strerror}") from None
        texts.append(data.decode("utf-8", "surrogateescape"))
    try:
        text, findings = merged(texts)
    except Unmergeable as error:
        raise ConfigError(f"merge: {error}") from None
    write_output(options, text, sys.stdout)
    return 1 if findings and not options.exit_zero else 0


# `tpulint rule` and `tpulint config`: what the rules and the configuration say.


def show_rule(options: argparse.Namespace) -> int:
    from tpulint.output.reference import rule_list, rule_page

    if options.all and options.code is not None:
        raise ConfigError("rule: give one CODE, or --all")
    print_problems(activate(options, "."))
    if options.code is None and not options.all:
        sys.stdout.write(rule_list(options.output_format))
    else:
        sys.stdout.write(rule_page(options.code, options.output_format))
    return 0


def show_config(options: argparse.Namespace) -> int:
    if options.schema:
        sys.stdout.write(schema_text())
        return 0
    from tpulint.output.reference import explained_key, settings

    if not os.path.lexists(options.path):
        if options.path in KEYS:
            print_problems(activate(options, "."))
            config = closest(options, ".").of(os.getcwd())
            sys.stdout.write(explained_key(KEYS[options.path], config))
            return 0
        near = nearest(options.path, list(KEYS), 0.6)
        raise ConfigError(f"{options.path}: no such file or directory, and no key{near}")
    full = os.path.abspath(options.path)
    folder = full if os.path.isdir(full) else os.path.dirname(full)
    print_problems(activate(options, folder))
    sys.stdout.write(settings(closest(options, folder).of(folder)))
    return 0


# `tpulint clean`: remove the cache.


def clean(options: argparse.Namespace) -> int:
    """Remove the cache, and nothing that tpulint has not made."""
    here = os.getcwd()
    activate(options, here)
    config = closest(options, here).of(here)
    directory = cache_place(config, here).directory
    if directory is None or (os.path.isdir(directory) and not is_ours(directory)):
        raise ConfigError(f"{config.cache_path}: not removed: not a cache directory of tpulint")
    if os.path.islink(directory):
        raise ConfigError(f"{directory}: not removed: it is a link")
    if os.path.isdir(directory):
        try:
            is_gone = clear(directory)
        except OSError as error:
            raise ConfigError(f"{directory}: cannot be removed: {error.strerror}") from None
        print(f"Removed {directory}" if is_gone else f"Removed the cache in {directory}")
    return 0


# `tpulint server`: hands over to the server, which the extra `lsp` installs the protocol for.

NEEDED = ("pygls", "lsprotocol")


def serve(options: argparse.Namespace) -> int:
    print_problems(activate(options, "."))
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(f"server: {missing[0]} is not installed: {install('lsp')}")
    from tpulint.server import main

    return main.serve(options.tcp)


# `tpulint new-rule`: the first version of a rule of your own, with its page and its test. It works:
# it reports the calls of one function on the device, and its test passes.


def new_rule(options: argparse.Namespace) -> int:
    """Write the files, and overwrite none. Raises ConfigError where there can be no such rule."""
    code, name, summary = options.code, options.name, options.summary.rstrip(".")
    if re.fullmatch(SHAPE, code) is None or code.startswith(RESERVED):
        raise ConfigError(
            f"new-rule: {code!r} is not three capitals and three digits, such as ABC101"
            f" ({RESERVED} is for tpulint's own rules)"
        )
    if re.fullmatch(KEBAB_CASE, name) is None:
        raise ConfigError(f"new-rule: {name!r} is not two or more words in kebab-case")
    stem = f"{code.lower()}_{name.replace('-', '_')}"
    class_name = "".join(word.capitalize() for word in name.split("-"))
    for filename, template in (
        (f"{stem}.py", "new_rule"),
        (f"{stem}.md", "new_rule_page"),
        ("test_rules.py", "new_rule_test"),
    ):
        path = os.path.join(options.directory, filename)
        state = "exists" if os.path.lexists(path) else "written"
        if state == "written":
            text = package_text(__file__, f"{template}.txt")
            filled = text.format(code=code, name=name, summary=summary, class_name=class_name)
            write_new_file(path, filled)
        print(f"{state}: {path}")
    print(f"test it:  python -m pytest {options.directory}")
    print(f"run it:   tpulint check --rules-dir {options.directory}")
    return 0


def write_new_file(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        # "x": a file that came in the meantime is not overwritten either.
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot write the file: {error.strerror}") from None
