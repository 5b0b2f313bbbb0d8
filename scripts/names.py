"""Read the public names of a TensorFlow release, with their parameters.

Everything is read from the release's sources. Where they cannot tell (a decorator that is
not known, a class whose constructor is inherited from elsewhere), a name has no parameters
on record, and whatever is given to it is right.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from scripts.keywords import Keywords, Place, Unclear
from scripts.wheels import Found, Library, bound, literal_names, top_level

# OPEN: a module of which only the watched names are kept; UNREADABLE: it may hold any name.
MODULE, OPEN, UNREADABLE, CLASS, FUNCTION, OTHER = "moucfx"

# The part of TensorFlow's API that TPU programs are written against. Not `losses`, `metrics` and
# `layers`: TensorFlow 2 takes them from Keras when it is imported.
WATCHED = (
    "tpu",
    "distribute",
    "estimator",
    "keras",
    "config",
    "summary",
    "xla",
    "data.experimental",
    "train",
    "nn",
    "math",
    "image",
    "contrib.tpu",
    "contrib.cluster_resolver",
    "contrib.distribute",
    "contrib.estimator",
    "contrib.summary",
    "contrib.compiler",
    "contrib.mixed_precision",
)
# Classes of which the names of methods matter as well.
CLASSES = ("tpu", "distribute", "estimator", "contrib.tpu", "contrib.distribute")
# Classes of which the parameters of the methods are kept, whatever else they have.
METHODS_OF = ("keras.Model", "keras.Sequential", "keras.optimizers.Optimizer", "data.Dataset")
INTERNAL = (
    "python.tpu",
    "python.distribute",
    "contrib.tpu",
    "contrib.distribute",
    "contrib.estimator",
    "contrib.summary",
    "contrib.compiler",
    "contrib.cluster_resolver",
    "contrib.mixed_precision",
)
LAYOUTS = "allow_initializer_layout"
# The folders in which the releases keep the modules that make up their API.
GENERATED = ("tensorflow._api", "tensorflow_estimator._api", "tensorflow.tools.api.generator.api")
# Decorators that leave the parameters as they are written.
TRANSPARENT = re.compile(
    r"(\w*_export|export|deprecat\w+|do_not_\w+|add_\w*dispatch\w*|add_dispatch_list|"
    r"register_\w+|wraps|tf_contextlib.contextmanager|contextmanager|cache|lru_cache|"
    r"dispatch_for\w*|unary_elementwise\w*|binary_elementwise\w*|generic_utils\.\w+|"
    r"abstractmethod|doc_controls\.\w+|no_automatic_dependency_tracking|classmethod|"
    r"six.add_metaclass|set_module|traceback_utils\.\w+|deprecation\.\w+|dispatch\.\w+|"
    r"keras_export|doc_typealias|docs)$"
)


# Bases that bring no attribute with a public name (of an enum's, `name` and `value` are members').
KNOWN_BASES = (
    "collections_abc.Iterable",
    "collections.abc.Iterable",
    "object",
    "Exception",
    "ValueError",
    "enum.Enum",
    "Enum",
    "enum.IntEnum",
    "str",
)


class Fact(NamedTuple):
    """`parameters` as `spelled` writes them; "" where they are not known."""

    kind: str
    parameters: str = ""


class Roots(NamedTuple):
    """Return the public modules of a release: dotted public name to dotted module.

    A public name without a module is one that cannot be read, whatever it holds.
    """

    public: Mapping[str, str]


def facts_of(library: Library, roots: Roots) -> dict[str, Fact]:
    """Every watched name of the release, by its full dotted name."""
    reader = Reader(library)
    for public, module in roots.public.items():
        if not module:
            reader.found[public] = Fact(UNREADABLE)
        elif watched(public):
            reader.read(public, module)
        elif library.file_of(module):
            reader.found[public] = Fact(OPEN)
            for name in (prefix.partition(".")[0] for prefix in WATCHED):
                inner = f"{public}.{name}"
                if inner not in roots.public and library.file_of(f"{module}.{name}"):
                    reader.read_watched(inner, f"{module}.{name}")
            reader.read_classes(public, module)
    package, module = "tensorflow.contrib.summary.", "tensorflow.contrib.summary.summary."
    for name, fact in list(reader.found.items()):
        if name.startswith(module):  # `tf.contrib.summary` is the module of that name in it
            reader.found[package + name[len(module) :]] = fact
    # Its modules are imported in every release, though the first ones take the name from the API.
    reader.found.setdefault("tensorflow.python", Fact(OPEN))
    for below in INTERNAL:
        for module in library.modules(f"tensorflow.{below}"):
            reader.read_internal(module)
    for name in list(reader.found):
        while "." in name:
            name = name.rpartition(".")[0]
            reader.found.setdefault(name, Fact(OPEN))
    return reader.found


def watched(public: str) -> bool:
    """Return whether all names below the dotted name `public` are kept."""
    inner = shortened(public)
    return any(inner == prefix or inner.startswith(prefix + ".") for prefix in WATCHED)


def has_methods(public: str) -> bool:
    return shortened(public) in METHODS_OF


def in_class(public: str) -> bool:
    return any(shortened(public).startswith(cls + ".") for cls in CLASSES)


def shortened(public: str) -> str:
    """Return the name as it is in either generation of the API."""
    return public.removeprefix("tensorflow.").removeprefix("compat.v1.")


class Reader:
    """The facts of one release."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.keywords = Keywords(library)
        self.found: dict[str, Fact] = {}

    def read_watched(self, public: str, module: str) -> None:
        """Read the watched part of a public module."""
        if watched(public):
            self.read(public, module)
            return
        self.found[public] = Fact(OPEN)
        for name in self.library.submodules(module):
            inner = f"{public}.{name}"
            short = shortened(inner)
            if any(prefix == short or prefix.startswith(short + ".") for prefix in WATCHED):
                self.read_watched(inner, f"{module}.{name}")

    def read_classes(self, public: str, module: str) -> None:
        """Read the classes that are kept of modules that are not."""
        for folder, name in (cls.split(".", 1) for cls in METHODS_OF if not watched(cls)):
            definition = self.library.follow(f"{module}.{folder}", name)
            if isinstance(definition.node, ast.ClassDef):
                self.put(f"{public}.{folder}.{name}", definition, 0)

    def read(self, public: str, module: str, depth: int = 0) -> None:
        """Read a module with all its names, and the modules in it."""
        names = self.library.names(module)
        if names is None:
            self.found[public] = Fact(UNREADABLE)
            return
        self.found[public] = Fact(UNREADABLE if "__getattr__" in names else MODULE)
        listed = documented(self.library, module)
        submodules = set(self.library.submodules(module))
        for name in sorted({*names, *submodules} if listed is None else listed):
            if name.startswith("_"):
                continue
            if name in submodules and _is_import(names.get(name)):
                if depth < 8:
                    self.read(f"{public}.{name}", f"{module}.{name}", depth + 1)
            else:
                self.put(f"{public}.{name}", self.library.follow(module, name), depth)

    def read_internal(self, module: str) -> None:
        """Read a module that is no part of the API: names that an import can take from it."""
        if self.found.get(module, Fact("")).kind == MODULE:
            return  # a public one, of which all names are there
        names = self.library.names(module)
        if names is None:
            self.found.setdefault(module, Fact(UNREADABLE))
            return
        self.found[module] = Fact(UNREADABLE if "__getattr__" in names else MODULE)
        for name, statement in names.items():
            if not name.startswith("__"):
                kind = {ast.FunctionDef: FUNCTION, ast.ClassDef: CLASS}.get(type(statement), OTHER)
                self.found.setdefault(f"{module}.{name}", Fact(kind))

    def put(self, public: str, fact: Found, depth: int) -> None:
        if fact.node is None:
            if fact.module and self.library.file_of(fact.module) and depth < 8:
                if fact.module.startswith(GENERATED):
                    self.read(public, fact.module, depth + 1)
                else:
                    self.found[public] = Fact(UNREADABLE)
            else:
                self.found[public] = Fact(OTHER)
            return
        if isinstance(fact.node, ast.FunctionDef):
            place = Place(fact.module, None, fact.node)
            self.found[public] = Fact(FUNCTION, self.parameters(place, 0))
            return
        members = dict(self.members(fact.module, fact.node))
        self.found[public] = Fact(CLASS, self.constructor(members, fact.module, fact.node))
        if has_methods(public):
            for name, method in members.items():
                if method is not None and not name.startswith("_"):
                    self.found[f"{public}.{name}"] = Fact(FUNCTION, self.parameters(method))
        if in_class(public) and "?" not in members and "__getattr__" not in members:
            self.found[public] = Fact(MODULE, self.found[public].parameters)
            for name, method in members.items():
                if not name.startswith("_"):
                    arguments = self.parameters(method) if method is not None else ""
                    kind = OTHER if method is None else FUNCTION
                    self.found[f"{public}.{name}"] = Fact(kind, arguments)

    def members(
        self, module: str, node: ast.ClassDef, depth: int = 0
    ) -> Iterator[tuple[str, Place | None]]:
        """Yield the attributes of a class, bases first; "?" where a base cannot be read."""
        for base in reversed(node.bases):
            if ast.unparse(base) in KNOWN_BASES:
                continue
            evaluated = self.library.evaluated(module, base)
            if isinstance(evaluated.node, ast.ClassDef) and depth < 12:
                yield from self.members(evaluated.module, evaluated.node, depth + 1)
            else:
                yield "?", None
        if node.decorator_list and not all(map(_is_transparent, node.decorator_list)):
            yield "?", None
        for statement in top_level(node.body):
            if isinstance(statement, ast.FunctionDef):
                plain = not any("property" in ast.unparse(d) for d in statement.decorator_list)
                static = any("staticmethod" in ast.unparse(d) for d in statement.decorator_list)
                is_method = plain and not static
                yield statement.name, Place(module, node, statement) if is_method else None
                for inner in ast.walk(statement):
                    if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                        yield inner.attr, None
            else:
                for name in bound(statement):
                    yield name, None

    def parameters(self, place: Place, skip: int = 1) -> str:
        """Return the parameters of a function, with the keywords that its body names."""
        function, layouts = without_layouts(place.node)
        place = place._replace(node=function)
        listed = parameters_of(function, skip)
        if not listed.endswith("**)") or not place.node.body:
            return listed
        hidden = self.keywords.hidden(place)
        if hidden is None:
            return listed
        hidden |= layouts
        listed_names = {word.rstrip("=") for word in listed.strip("()").split(",")}
        return with_keywords(listed.removesuffix("**)").rstrip(","), hidden - listed_names)

    def constructor(
        self, members: Mapping[str, Place | None], module: str, node: ast.ClassDef
    ) -> str:
        """Return the parameters of a class; "" where its bases may know more than is seen."""
        if any(keyword.arg != "metaclass" for keyword in node.keywords):
            return ""
        for keyword in node.keywords:
            if "ABC" not in ast.unparse(keyword):
                return self.of_metaclass(module, node, keyword.value)
        methods = [members.get(name) for name in ("__new__", "__init__")]
        new, init = methods  # `__new__` takes anything for `__init__`, or makes another class
        arguments = [parameters_of(new.node, 1)] if new is not None else []
        arguments += [self.parameters(init)] if init is not None else []
        own = [statement for statement in node.body if isinstance(statement, ast.FunctionDef)]
        if "?" in members and not any(
            method is not None and method.node in own for method in methods
        ):
            return ""
        specific = [listed for listed in arguments if listed and not listed.endswith("**)")]
        return specific[0] if len(specific) == 1 and "" not in arguments else ""

    def of_metaclass(self, module: str, node: ast.ClassDef, metaclass: ast.expr) -> str:
        """Return the parameters of a class whose metaclass makes its objects."""
        definition = self.library.evaluated(module, metaclass)
        if not isinstance(definition.node, ast.ClassDef):
            return ""
        try:
            call = self.keywords.method(definition.module, definition.node, "__call__")
            hidden = self.keywords.made_by(call, module, node)
        except Unclear:
            return ""
        listed = parameters_of(call.node, 1)
        return with_keywords(listed.removesuffix("**)").rstrip(","), hidden) if listed else ""


def without_layouts(function: ast.FunctionDef) -> tuple[ast.FunctionDef, frozenset[str]]:
    """Return a constructor without the decorator that gives it keywords of DTensor, and these.

    keras/dtensor/utils.py: `allow_initializer_layout` takes `x_layout` beside `x_initializer`.
    """
    decorators = [node for node in function.decorator_list if LAYOUTS not in ast.unparse(node)]
    if len(decorators) == len(function.decorator_list):
        return function, frozenset()
    names = [argument.arg for argument in [*function.args.args, *function.args.kwonlyargs]]
    end = "_initializer"
    layouts = [name.removesuffix(end) + "_layout" for name in names if name.endswith(end)]
    plain = ast.FunctionDef(
        function.name, function.args, function.body, decorators, function.returns, lineno=1
    )
    return plain, frozenset(layouts)


def with_keywords(listed: str, keywords: Collection[str]) -> str:
    """Return a list of parameters without its end, with more keywords."""
    marked = listed if "|" in listed or "*" in listed or not keywords else f"{listed},|"
    words = [marked, *(f"{name}=" for name in sorted(keywords))]
    return ",".join(words).replace("(,", "(") + ")"


def _is_import(statement: ast.stmt | None) -> bool:
    return statement is None or isinstance(statement, (ast.Import, ast.ImportFrom))


def documented(library: Library, module: str) -> set[str] | None:
    """Return the names that a contrib module keeps, if it removes what its text does not name."""
    tree = library.tree(module)
    if tree is None or "remove_undocumented(" not in ast.unparse(tree):
        return None
    listed = set(re.findall(r"^@@(\w+)", ast.get_docstring(tree) or "", re.M))
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            listed.update(literal_names(statement.value) or [])
    return listed


def parameters_of(node: ast.FunctionDef, skip: int = 0) -> str:
    """Return the parameters as `spelled` writes them; "" where a decorator may change them."""
    if not all(map(_is_transparent, node.decorator_list)):
        return ""
    return spelled(node.args, skip)


def _is_transparent(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return TRANSPARENT.search(ast.unparse(called)) is not None


def spelled(args: ast.arguments, skip: int = 0) -> str:
    """Return `(a,b=,*,c=,**)`: names in order, `=` after those with a default."""
    plain = [*args.posonlyargs, *args.args]
    optional = len(plain) - len(args.defaults)
    words = [
        parameter.arg + ("=" if index >= optional else "") for index, parameter in enumerate(plain)
    ][skip:]
    if args.vararg is not None:
        words.append("*")
    elif args.kwonlyargs:
        words.append("|")
    for parameter, default in zip(args.kwonlyargs, args.kw_defaults):
        words.append(parameter.arg + ("=" if default is not None else ""))
    if args.kwarg is not None:
        words.append("**")
    return f"({','.join(words)})"
