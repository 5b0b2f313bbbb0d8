"""Rules and models of others: where they come from, and which of them a run uses.

Two kinds of code are loaded. An installed distribution names modules by the entry points
`tpulint.rules` and `tpulint.models`: its user has installed it. A local directory is loaded where
the user names it on the command line, or allows it in the user's own configuration. It is never
loaded because a checked repository asks for it: checking a repository must not run its code.

An error of a plug-in is one line that names the plug-in, and costs nobody else's findings.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tpulint import codes
from tpulint.codes import SHAPE, Code
from tpulint.config import files
from tpulint.disk import hash_of_files, is_inside, read_regular
from tpulint.finding import Applicability, Severity

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tpulint.frontends.tensorflow.models.table import Model
    from tpulint.rules.base import Rule

RULES_GROUP = "tpulint.rules"
MODELS_GROUP = "tpulint.models"
RESERVED = "TPU"  # a later release may use any of these codes
KEBAB_CASE = r"[a-z0-9]+(-[a-z0-9]+)+"
LOCAL_FILES = (".py", ".md", ".toml")


class PluginOptions(NamedTuple):
    """The plug-ins to use: the installed ones or not, and local directories (absolute)."""

    installed: bool = True
    directories: tuple[str, ...] = ()


class PluginFailure(NamedTuple):
    """A plug-in, with its version, that cannot be used, or a rule of it."""

    plugin: str
    error: str

    def __str__(self) -> str:
        return f"plug-in {self.plugin}: {self.error}"


class PluginModel(NamedTuple):
    """A function that says what calls mean, and their names (see `models/table.py`)."""

    names: tuple[str, ...]
    function: Model
    is_boundary: bool


class PluginSet:
    """The plug-ins in use, what they add, and what is wrong with them."""

    def __init__(self, options: PluginOptions) -> None:
        self.options = options
        self.keys: list[str] = []
        self.failures: list[PluginFailure] = []
        self.rules: dict[str, type[Rule]] = {}
        self.rows: dict[str, Code] = {}
        self.models: list[PluginModel] = []

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """The names of calls that are TPU API, too."""
        return tuple(name for model in self.models if model.is_boundary for name in model.names)

    @property
    def key(self) -> str:
        """What cached findings depend on: the plug-ins with their versions, or their files."""
        return "\n".join(self.keys)

    def add(self, plugin: str, rules: Iterable[type[Rule]]) -> None:
        """Add the rules of a plug-in, except those whose code or name is taken."""
        for rule in rules:
            if (problem := self._objection(rule)) is not None:
                self.failures.append(PluginFailure(plugin, problem))
                continue
            self.rules[rule.code] = rule
            row = (rule.code, rule.name, rule.severity, rule.summary, rule.fixes)
            self.rows[rule.code] = Code(*row, plugin=plugin, link=rule.url)

    def _objection(self, rule: type[Rule]) -> str | None:
        """Return why the rule cannot be added, None where it can be."""
        if rule.code.startswith(RESERVED):
            return f"{rule.code}: codes that begin with {RESERVED} belong to tpulint"
        for row in (*codes.OWN.values(), *self.rows.values()):
            if rule.code == row.code:
                return f"{rule.code} is a code of {row.plugin} already"
            if rule.name == row.name:
                owner = f"{row.code} of {row.plugin or 'tpulint'}"
                return f"{rule.code}: the name '{rule.name}' belongs to {owner}"
        return None


# The classes that plug-ins have registered, by module and name, in the order of their definitions.
# They stay here when another set is activated, because a module is only imported once.
_registered: dict[tuple[str, str], type[Rule]] = {}
_registered_models: dict[tuple[str, str], PluginModel] = {}
_has_models = False
_active = PluginSet(PluginOptions(installed=False))


def register_rule(rule: type[Rule]) -> None:
    """Note a rule of a plug-in. Raises ValueError for one that cannot be shown to users."""
    where = f"rule {rule.__name__}"
    for name, kind in (("code", str), ("name", str), ("summary", str), ("severity", Severity)):
        if not hasattr(rule, name):
            raise ValueError(f"{where} has no `{name}`")
        if not isinstance(getattr(rule, name), kind):
            raise ValueError(f"{where}: `{name}` is not a {kind.__name__}")
    if not all(isinstance(fix, Applicability) for fix in rule.fixes):
        raise ValueError(f"{where}: `fixes` is not a tuple of Applicability")
    # Without `check` it is abstract, and TypeError says so: here, and not in each program.
    rule()
    if re.fullmatch(SHAPE, rule.code) is None:
        raise ValueError(f"{where}: the code {rule.code!r} is not three capitals and three digits")
    if re.fullmatch(KEBAB_CASE, rule.name) is None:
        raise ValueError(f"{where}: the name {rule.name!r} is not two or more words in kebab-case")
    _registered[rule.__module__, rule.__qualname__] = rule


def register_model(names: tuple[str, ...], function: Model, is_boundary: bool) -> None:
    key = function.__module__, function.__qualname__
    _registered_models[key] = PluginModel(names, function, is_boundary)


class PluginChoice(NamedTuple):
    """The plug-ins that a run may use, and lines about those that it may not."""

    options: PluginOptions
    notes: tuple[str, ...] = ()


def choose(
    starts: Iterable[str],
    rules_dirs: Iterable[str] = (),
    *,
    isolated: bool = False,
    no_plugins: bool = False,
) -> PluginChoice:
    """Return the plug-ins for a run on the directories `starts`.

    `rules_dirs` are those of the command line. `isolated` leaves out the configuration and what is
    installed, `no_plugins` only the latter.
    """
    # What the user names on the command line needs no permission, wherever it is.
    directories = [os.path.abspath(directory) for directory in rules_dirs]
    notes: list[str] = []
    allowed = () if isolated else files.allowed_rules_directories()
    for start in () if isolated else starts:
        file, named = files.named_rules_directories(start)
        for directory in named:
            # A link in an allowed directory may lead to code that nobody has allowed.
            if directory in directories or any(is_inside(directory, top) for top in allowed):
                directories.append(directory)
            else:
                notes.append(refusal(file, directory))
    options = PluginOptions(not (isolated or no_plugins), tuple(dict.fromkeys(directories)))
    return PluginChoice(options, tuple(dict.fromkeys(notes)))


def refusal(file: str, directory: str) -> str:
    """Return the line about a directory that only a project's configuration names."""
    shown = os.path.relpath(directory)
    return (
        f"{os.path.relpath(file)}: rules-dir: the rules in {shown} are not loaded, for a repository"
        f" cannot ask to run its code; to load them, give --rules-dir {shown}, or add"
        f' allow-rules-dir = ["{directory}"] to {files.user_config_path()}'
    )


def active() -> PluginSet:
    return _active


def activate(options: PluginOptions) -> PluginSet:
    """Load the plug-ins of `options`, and use them instead of those in use so far."""
    global _active, _has_models
    _active = PluginSet(options)
    if options.installed:
        # By name: of two plug-ins with one code, it is the same one that loses in each run.
        for plugin, entry_points in installed_plugins():
            _load_installed(_active, plugin, entry_points)
    for directory in options.directories:
        _load_directory(_active, directory)
    codes.use(_active.rows.values())
    if _active.models or _has_models:  # the table imports the whole interpreter: few have models
        from tpulint.frontends.tensorflow.models.table import replace_plugin_models

        _has_models = bool(_active.models)
        replace_plugin_models((model.names, model.function) for model in _active.models)
    return _active


def require(options: PluginOptions) -> None:
    """Load the plug-ins of `options` if others are in use, as in a new process."""
    if _active.options != options:
        activate(options)


# Installed distributions.


def installed_plugins() -> list[tuple[str, list[EntryPoint]]]:
    """Return the entry points of tpulint by their distributions (with the version), in order."""
    path = search_path()
    if not any(map(_names_tpulint, path)):
        return []  # importing importlib.metadata takes longer than most checks
    from importlib.metadata import distributions

    by_name: dict[str, tuple[str, list[EntryPoint]]] = {}
    for distribution in distributions(path=path):
        groups = (RULES_GROUP, MODELS_GROUP)
        entry_points = [point for point in distribution.entry_points if point.group in groups]
        name = distribution.metadata["Name"]
        # The first distribution of a name on the path is the one that imports find.
        if entry_points and name not in by_name:
            by_name[name] = f"{name} {distribution.version}", entry_points
    return [by_name[name] for name in sorted(by_name)]


def search_path() -> list[str]:
    """Return `sys.path` without the working directory, which may be the checked repository.

    `python -m flake8` has it there. Whatever a repository holds, it has not been installed.
    """
    here = os.path.realpath(os.getcwd())
    return [path for path in sys.path if path and os.path.realpath(path) != here]


def _names_tpulint(directory: str) -> bool:
    """Return whether a distribution in a directory of `sys.path` has entry points of tpulint."""
    try:
        entries = os.listdir(directory or ".")
    except OSError:
        return False
    for entry in entries:
        if entry.endswith((".dist-info", ".egg-info")):
            with contextlib.suppress(OSError):  # most distributions have no entry points
                if b"[tpulint." in read_regular(os.path.join(directory, entry, "entry_points.txt")):
                    return True
    return False


def _load_installed(plugins: PluginSet, plugin: str, entry_points: list[EntryPoint]) -> None:
    plugins.keys.append(plugin)
    for entry_point in entry_points:
        before = sys.path
        try:
            sys.path = search_path()  # a module of the repository must not come first
            loaded = entry_point.load()
            kind = "rule" if entry_point.group == RULES_GROUP else "model"
            rules = list(_rules_of(loaded)) if kind == "rule" else []
            models = list(_models_of(loaded)) if kind == "model" else []
            if not rules and not models:
                raise ValueError(f"no {kind} is registered there")
        except (Exception, SystemExit) as error:  # a script may end itself where it is imported
            where = f"{entry_point.group} {entry_point.name} = {entry_point.value}"
            plugins.failures.append(PluginFailure(plugin, f"{where}: {_described(error)}"))
        else:
            plugins.add(plugin, rules)
            plugins.models += models
        finally:
            sys.path = before


def _rules_of(loaded: object) -> Iterator[type[Rule]]:
    """Yield the rule that an entry point names, or those that are registered in its module."""
    name = loaded.__name__ if isinstance(loaded, types.ModuleType) else None
    for rule in _registered.values():
        if rule is loaded or (name and f"{rule.__module__}.".startswith(f"{name}.")):
            yield rule


def _models_of(module: object) -> Iterator[PluginModel]:
    """Yield the models that are registered in a module, or in those of a package."""
    prefix = f"{getattr(module, '__name__', '')}."
    for (home, _), model in _registered_models.items():
        if f"{home}.".startswith(prefix):
            yield model


# Local directories.


def _load_directory(plugins: PluginSet, directory: str) -> None:
    """Load the modules of a directory; those that begin with `_` and tests are only imported."""
    plugins.keys.append(f"{directory} {hash_of_files(directory, LOCAL_FILES)}")
    package = _package_of(directory)
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        plugins.failures.append(PluginFailure(directory, error.strerror or str(error)))
        return
    for name in names:
        stem, suffix = os.path.splitext(name)
        if suffix != ".py" or stem.startswith(("_", "test_")) or stem == "conftest":
            continue
        try:
            module = importlib.import_module(f"{package}.{stem}")
        except (Exception, SystemExit) as error:
            plugins.failures.append(PluginFailure(directory, f"{name}: {_described(error)}"))
        else:
            plugins.add(directory, list(_rules_of(module)))
            plugins.models += _models_of(module)


def _package_of(directory: str) -> str:
    """Return the package that holds the modules of a directory, so that they can import others.

    It is no directory of `sys.path`: its modules must not hide those of other packages.
    """
    name = f"_tpulint_rules_{hashlib.sha256(directory.encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [directory]
        sys.modules[name] = package
    return name


def _described(error: BaseException) -> str:
    """Return the error in one line, with its place in the plug-in."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    # The frames of the import system say nothing, and those of tpulint are not at fault.
    machinery = ("<", os.path.dirname(__file__), os.path.dirname(importlib.__file__))
    own = [frame for frame in frames if not frame.filename.startswith(machinery)]
    where = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}{where}" if text else type(error).__name__ + where


# Pages.


def page_of(code: str) -> str:
    """Return the page of a rule: the file beside its module, or its docstring."""
    rule = _active.rules[code]
    row = _active.rows[code]
    stem = f"{code.lower()}_{row.name.replace('-', '_')}"
    module = sys.modules[rule.__module__]
    folder = os.path.dirname(getattr(module, "__file__", None) or "")
    try:
        return read_regular(os.path.join(folder, f"{stem}.md")).decode("utf-8", "replace")
    except OSError:
        import inspect  # it takes long to import, and most rules have a page

        text = inspect.cleandoc(rule.__doc__ or "")
        head = f"# {code} {row.name}\n\nReports a fault: {row.summary}.\n"
        return f"{head}\n{text}\n" if text else head
