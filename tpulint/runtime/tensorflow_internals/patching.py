"""Patches of TensorFlow, each declared where its replacement is written.

    @patch("tensorflow.python.client.session.BaseSession.close", why="...")
    def close(original, self): ...

`install`, at the first use, and `installed` put them into TensorFlow. Nothing else replaces an
attribute of it. Outside patches, the runtime only adds to TensorFlow: a gradient under a name of
its own, its context class to those that TensorFlow takes for its own, and attributes that begin
with `_tpulint` to graphs and operations. docs/patches.md is made from these declarations.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from tpulint.runtime.tensorflow_internals import modules as modules  # what is patched is loaded

_OLDEST = "2.12"
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Value = TypeVar("_Value")


class When(enum.Enum):
    """The time for which a patch is installed."""

    ALWAYS = "from the first use of `tpulint.runtime` on"
    EMULATED = "while `emulated_tpu` is open"
    BUILDING = "while TensorFlow 1 conditionals and loops become functions"
    INTERRUPTIBLE = "while `tpulint run` can be interrupted"


@dataclass(frozen=True)
class Patch:
    """One attribute of a module or class of TensorFlow, and what replaces it.

    `since` and `until` are the oldest and the newest release that were found to have it; no `until`
    is the newest supported one. It is left alone where TensorFlow has the attribute `unless`.
    """

    target: str
    why: str
    when: When
    since: str
    until: str
    unless: str
    replace: Callable[[Any, Callable[[], bool]], Any]
    """Return the new value, given the original and whether this patch is still installed."""

    def applies(self) -> bool:
        """Return whether the installed TensorFlow has the attribute.

        One that all releases have must be there: where it is not, installing raises an error.
        """
        if self.unless and _has(self.unless):
            return False
        return (self.since == _OLDEST and not self.until) or _has(self.target)


PATCHES: list[Patch] = []
"""The patches of all modules that are imported: there is one TensorFlow in a process.

Of two with the same target, the later one finds the replacement of the other.
"""


def _calling(function: Callable[..., Any], original: Any, is_installed: Callable[[], bool]) -> Any:
    """Return a property or function that calls `function` with `original`.

    Another library may have wrapped it and keep it when the patch ends. Then it is as the original.
    """
    if inspect.isdatadescriptor(original):
        read = cast(Any, original).__get__

        def get(self: Any) -> Any:
            return function(read, self) if is_installed() else read(self)

        return property(get, getattr(original, "fset", None))

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_installed():
            return function(original, *args, **kwargs)
        return original(*args, **kwargs)

    return call


def patch(
    target: str,
    *,
    why: str,
    when: When = When.ALWAYS,
    since: str = _OLDEST,
    until: str = "",
    unless: str = "",
    replacement: Callable[..., Any] = _calling,
) -> Callable[[_Function], _Function]:
    """Let the decorated function replace the function, method or property `target`.

    It is called with the original, and the arguments of that.
    """

    def declare(function: _Function) -> _Function:
        replace = functools.partial(replacement, function)
        PATCHES.append(Patch(target, why, when, since, until, unless, replace))
        return function

    return declare


def _value(function: Callable[[Any], Any], original: Any, _: Callable[[], bool]) -> Any:
    return function(original)


# What the decorated function returns for the original replaces `target`.
patch_value = functools.partial(patch, replacement=_value)
emulated_patch = functools.partial(patch, when=When.EMULATED)
emulated_patch_value = functools.partial(patch_value, when=When.EMULATED)


_AFTER_INSTALL: list[Callable[[], None]] = []
"""Like the patches, they are declared while modules are imported."""
# It can be taken again: what follows an installation may use the runtime.
_lock = threading.RLock()
_stacks: dict[When, ExitStack] = {}
"""What undoes the patches that are installed now."""
_users: Counter[When] = Counter()
"""The contexts in which they are asked for now. What is patched is shared by all threads."""


def install() -> None:
    """Install the patches of TensorFlow that the runtime needs, unless they are there.

    The first use of a function of `tpulint.runtime` does it. Call this one earlier where a program
    makes the host's end of infeed or outfeed before.

    Raises:
        RuntimeError: the program has made such an operation already.
    """
    if _users[When.ALWAYS]:
        return
    with _lock:
        if not _users[When.ALWAYS]:
            _install(When.ALWAYS)
            _users[When.ALWAYS] += 1
            for prepare in _AFTER_INSTALL:
                prepare()


def after_install(function: Callable[[], None]) -> Callable[[], None]:
    """Let the decorated function take care of what the program made before `install`."""
    _AFTER_INSTALL.append(function)
    return function


@contextmanager
def installed(when: When) -> Iterator[None]:
    """Have the patches for `when` in the context."""
    with _lock:
        _install(when)
        _users[when] += 1
    try:
        yield
    finally:
        with _lock:
            _users[when] -= 1
            if not _users[when]:
                _stacks.pop(when).close()


def _install(when: When) -> None:
    if when in _stacks:
        return
    with ExitStack() as stack:
        for declared in PATCHES:
            if declared.when is when and declared.applies():
                stack.enter_context(_replaced_by(declared))
        _stacks[when] = stack.pop_all()


@contextmanager
def _replaced_by(declared: Patch) -> Iterator[None]:
    owner, name = owner_of(declared.target)
    # A property must not be read here, and a class gives its functions unbound.
    static = inspect.getattr_static(owner, name)
    original = static if inspect.isdatadescriptor(static) else getattr(owner, name)
    is_installed = True
    try:
        with replaced(owner, name, declared.replace(original, lambda: is_installed)):
            yield
    finally:
        is_installed = False


def owner_of(target: str) -> tuple[Any, str]:
    """Return the module or class of TensorFlow that has the attribute `target`, and its name."""
    *path, name = target.split(".")
    loaded = max(n for n in range(1, len(path) + 1) if ".".join(path[:n]) in sys.modules)
    return functools.reduce(getattr, path[loaded:], sys.modules[".".join(path[:loaded])]), name


def _has(target: str) -> bool:
    try:
        owner, name = owner_of(target)
    except AttributeError:
        return False
    return hasattr(owner, name)


@contextmanager
def replaced(owner: Any, name: str, new: Any) -> Iterator[None]:
    """Give `owner` in the context `new` as its own attribute `name`.

    What somebody else has put in its place by the end stays.
    """
    own = vars(owner)
    saved = (own[name],) if name in own else ()
    setattr(owner, name, new)
    try:
        yield
    finally:
        if vars(owner).get(name) is new:
            if saved:
                setattr(owner, name, saved[0])
            else:
                delattr(owner, name)


@contextmanager
def with_attributes(owner: Any, **attributes: Any) -> Iterator[None]:
    """Give `owner` other values of `attributes` in the context."""
    saved = {name: getattr(owner, name) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in saved.items():
            setattr(owner, name, value)


def set_default(graph: Any, name: str, default: _Value) -> _Value:
    """Return the attribute `name` of `graph`, which is set to `default` if there is none."""
    if not hasattr(graph, name):
        setattr(graph, name, default)
    return cast(_Value, getattr(graph, name))


class Changed:
    """A module of which some functions are others."""

    def __init__(self, module: Any, **functions: Callable[..., Any]) -> None:
        self._module = module
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
