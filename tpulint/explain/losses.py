"""Where and why the value of an expression was lost, noted while a program is read.

A check keeps none of this. `noting` watches each expression for the time of a reading, and follows
a value that is unknown through names, arguments, attributes and results to where it came up first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tpulint.absint.domain.events import Tensor
from tpulint.absint.domain.objects import Env, ExternalObject, Function, Instance, Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Bound, Const, External, Opaque, Value
from tpulint.absint.interpreter import expressions
from tpulint.absint.interpreter.frame import Frame
from tpulint.frontends import frameworks_read, is_of_library
from tpulint.syntax import nodes

# The kinds of reasons, as docs/recall.md counts them.
OTHER_PACKAGE = "a function of another package"
PYTHON = "a function of Python or a method of its types"
LIBRARY = f"a function of {' or '.join(frameworks_read())} whose result is no tensor"
PARAMETER = "a parameter of a function that nothing read calls, or a part of it"
UNSET = "an attribute that nothing read sets"
ITEM = "an item of a container, by an index or a key that is not known"
ELEMENT = "an item of a loop or a context, over what is not known"
OPERATOR = "an operator on values that are no constants"
TEXT = "a formatted string"
ATTRIBUTE = "an attribute of a tensor or of another value"
NAME = "a name whose value was lost where it is bound"
OTHER = "another expression"
RESULT = "a function of the project that was not followed, or gives too many different values"


@dataclass(frozen=True)
class LostValue:
    """The place where a value was lost first. kind: one of the kinds above."""

    site: Site
    kind: str
    text: str

    def __str__(self) -> str:
        start = self.site.span.start
        return f"{self.site.span.filename}:{start.row}:{start.column}: {self.text}"


@dataclass
class Losses:
    """The losses of one reading: of expressions, of names by where they are bound, of results.

    on_device: those that an expression in device code has met.
    """

    on_device: set[LostValue] = field(default_factory=set)
    _of_nodes: dict[int, tuple[nodes.Expression, Value, LostValue | None]] = field(
        default_factory=dict
    )
    _of_names: dict[tuple[int, str], tuple[Env, LostValue]] = field(default_factory=dict)
    _of_attributes: dict[str, LostValue] = field(default_factory=dict)
    _of_results: dict[int, LostValue] = field(default_factory=dict)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note the losses of what is read in the block."""
        with expressions.results_shown(self._note):
            yield

    def of(self, frame: Frame, dotted: str, value: Value) -> LostValue | None:
        """Return where the value of a dotted name was lost; None where it is known."""
        if isinstance(value, Opaque):
            return self._of_opaque(value, frame.site(-1))
        if value is not UNKNOWN:
            return None
        before, _, last = dotted.rpartition(".")
        return self._of_attributes.get(last) if before else self._bound(frame, last)

    def _note(self, frame: Frame, node: nodes.Expression, value: Value) -> None:
        loss = None
        if (value is UNKNOWN or isinstance(value, Opaque)) and not isinstance(node, nodes.Slice):
            loss = self._loss(frame, node, value)
            if frame.context.on_device and not frame.context.is_unrecorded:
                self.on_device.add(loss)
        self._of_nodes[id(node)] = (node, value, loss)
        statement = frame.statement
        if isinstance(statement, nodes.Return) and statement.value is node and frame.function:
            if loss is not None:
                self._of_results[id(frame.function.code)] = loss
        elif isinstance(statement, nodes.Assign) and statement.value is node:
            if loss is not None:
                self._bind(frame, statement.targets, loss)
        elif isinstance(statement, nodes.For) and statement.iterated is node:
            self._bind(frame, [statement.target], loss or self._element(frame, node))
        elif isinstance(statement, nodes.With):
            for item in statement.items:
                if item.manager is node and item.target is not None:
                    self._bind(frame, [item.target], loss or self._element(frame, node))

    def _bind(self, frame: Frame, targets: list[nodes.Expression], loss: LostValue) -> None:
        for target in nodes.walk(*targets):
            if isinstance(target, nodes.Name):
                self._of_names[id(frame.env), target.id] = (frame.env, loss)
            elif isinstance(target, nodes.Attribute):
                self._of_attributes[target.name] = loss

    def _loss(self, frame: Frame, node: nodes.Expression, value: Value) -> LostValue:
        """Return where the value of an expression, which is not known, was lost."""
        lost = None
        if isinstance(node, nodes.Name):
            lost = self._bound(frame, node.id)
        elif isinstance(node, nodes.Attribute):
            lost = self._known(node.base) or self._of_attributes.get(node.name)
        if lost is not None:
            return lost
        if isinstance(value, Opaque):
            return self._of_opaque(value, frame.site(nodes.first_place(node)))
        if isinstance(node, nodes.CallNode):
            return self._known(node.callee) or self._of_call(frame, node)
        for part in nodes.walk(node):  # from the outside to the inside
            if isinstance(part, nodes.Expression) and part is not node:
                lost = self._known(part)
                if lost is not None:
                    return lost
        return self._came_up(frame, node)

    def _noted(self, node: nodes.Expression) -> tuple[Value, LostValue | None]:
        _, value, loss = self._of_nodes.get(id(node), (node, UNKNOWN, None))
        return value, loss

    def _known(self, node: nodes.Expression) -> LostValue | None:
        return self._noted(node)[1]

    def _bound(self, frame: Frame, name: str) -> LostValue | None:
        """Return the loss of what is bound to a name, out through scopes and arguments."""
        argument = frame.given.get(name)
        if argument is not None and argument.node is not None:
            return self._known(argument.node)
        env: Env | None = frame.env
        while env is not None and (id(env), name) not in self._of_names:
            env = env.outer
        return self._of_names[id(env), name][1] if env is not None else None

    def _of_opaque(self, value: Opaque, site: Site) -> LostValue:
        root = value
        while root.parent is not None:
            root = root.parent
        if root.path.startswith("self.") or value.path.startswith("self."):
            lost = self._of_attributes.get(root.last)
            text = f"no assignment to `{root.path}` was read that gives its value"
            return lost or LostValue(site, UNSET, text)
        text = f"`{root.path}` is a parameter, and no call that was read gives it"
        return LostValue(site, PARAMETER, text)

    def _came_up(self, frame: Frame, node: nodes.Expression) -> LostValue:
        """Return the loss of an expression all parts of which are known."""
        words = self._words
        match node:
            case nodes.Name(id=name):
                return self._of_name(frame, node, name)
            case nodes.Subscript():
                kind, text = ITEM, f"an item of {words(node.base)}"
            case nodes.Attribute():
                kind, text = ATTRIBUTE, f"the attribute `{node.name}` of {words(node.base)}"
            case nodes.BinaryOperation(op, left, right):
                kind, text = OPERATOR, f"`{op}` of {words(left)} and {words(right)}"
            case nodes.Compare(left, (first, *_)):
                kind, text = OPERATOR, f"`{first.op}` of {words(left)} and {words(first.right)}"
            case nodes.UnaryOperation() | nodes.Not():
                kind, text = OPERATOR, "an operator on one value"
            case nodes.FormattedString():
                kind, text = TEXT, TEXT
            case _:
                kind, text = OTHER, f"an expression of the kind {type(node).__name__}"
        return self._new(frame, node, kind, text)

    def _of_name(self, frame: Frame, node: nodes.Name, name: str) -> LostValue:
        """Return the loss of a name that nothing is known to be bound to."""
        for clause in nodes.walk(frame.statement):
            if isinstance(clause, nodes.Clause) and any(
                isinstance(part, nodes.Name) and part.id == name
                for part in nodes.walk(clause.target)
            ):
                return self._known(clause.iterated) or self._element(frame, node, clause.iterated)
        code = frame.function.code if frame.function is not None else None
        if code is not None and name in [parameter.name for parameter in code.parameters.named]:
            text = f"`{name}` is given to `{code.name}` by code that is not read"
            return self._new(frame, node, PARAMETER, text)
        return self._new(frame, node, NAME, f"`{name}` is bound to a value not known")

    def _of_call(self, frame: Frame, node: nodes.CallNode) -> LostValue:
        callee, _ = self._noted(node.callee)
        callee = callee.function if isinstance(callee, Bound) else callee
        if isinstance(callee, Function):
            lost = self._of_results.get(id(callee.code))
            text = f"the result of `{callee.name or 'a lambda'}`"
            return lost or self._new(frame, node, RESULT, text)
        argument_losses = (self._known(argument.value) for argument in node.arguments)
        lost = next(filter(None, argument_losses), None)
        if lost is not None:
            return lost
        path = callee.path if isinstance(callee, (External, ExternalObject)) else ""
        kind = LIBRARY if is_of_library(path) else OTHER_PACKAGE
        if not path or path.startswith(("builtins.", "?")):
            kind = PYTHON
        name = path or (node.callee.name if isinstance(node.callee, nodes.Attribute) else "a call")
        return self._new(frame, node, kind, f"the result of `{name.removeprefix('builtins.')}`")

    def _element(
        self, frame: Frame, node: nodes.Expression, of: nodes.Expression | None = None
    ) -> LostValue:
        """Return the loss of an element of a value that is known itself."""
        text = f"what {self._words(of or node)} gives to a loop or a `with` block"
        return self._new(frame, node, ELEMENT, text)

    def _words(self, node: nodes.Expression) -> str:
        match self._noted(node)[0]:
            case Sequence():
                return "a sequence"
            case Mapping():
                return "a dict"
            case Tensor():
                return "a tensor"
            case Instance() as instance:
                return f"an object of `{instance.cls.code.name}`"
            case External(path) | ExternalObject(path):
                return f"`{path}`"
            case Const(value):
                return f"a {type(value).__name__}"
            case other:
                return f"a {type(other).__name__}".lower()

    def _new(self, frame: Frame, node: nodes.Expression, kind: str, text: str) -> LostValue:
        return LostValue(frame.site(nodes.first_place(node)), kind, text)
