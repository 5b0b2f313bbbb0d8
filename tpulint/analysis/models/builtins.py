"""Python's own functions, where their result matters to the analysis."""

from __future__ import annotations

from collections.abc import Callable

from tpulint.analysis.domain.effects import STACK
from tpulint.analysis.domain.objects import (
    Class,
    ContextManagerValue,
    Function,
    Instance,
    Mapping,
    Sequence,
    Super,
)
from tpulint.analysis.domain.structures import start_of
from tpulint.analysis.domain.values import (
    NONE,
    UNKNOWN,
    Bound,
    Choice,
    Const,
    External,
    Partial,
    Text,
    Value,
    options,
)
from tpulint.analysis.interpreter import attributes, dataclass_fields, operators
from tpulint.analysis.interpreter.calls import call, given
from tpulint.analysis.interpreter.operators import items_of
from tpulint.analysis.models.call import Call
from tpulint.frontends.tensorflow.hooks import running_strategy
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.knowledge import seam

UNROLL = 16


def answer(this: Call) -> Value | None:
    handler = _HANDLERS.get(this.path)
    return handler(this) if handler is not None else None


def knows(path: str) -> bool:
    """Return whether `path` is a function of Python's that is answered here."""
    return path in _HANDLERS


def _getattr(this: Call) -> Value:
    values = this.values
    if len(values) < 2 or not isinstance(values[1], Const):
        return UNKNOWN
    asked = values[1].value in seam.CONTEXT_STATE
    if isinstance(values[0], (Instance, Class)) or len(values) == 2 or asked:
        return attributes.get(this.frame, values[0], str(values[1].value), this.site)
    return UNKNOWN


def _setattr(this: Call) -> Value:
    values = this.values
    if len(values) == 3 and isinstance(values[1], Const):
        attributes.put(this.frame, values[0], str(values[1].value), values[2])
    elif len(values) == 3:
        attributes.put_any(values[0])
    return NONE


def _partial(this: Call) -> Value:
    plain = [each for each in this.arguments if each.keyword is None]
    if not plain or any(each.star for each in this.arguments):
        return UNKNOWN
    named = tuple((str(each.keyword), each.value) for each in this.arguments if each.keyword)
    return Partial(plain[0].value, tuple(each.value for each in plain[1:]), named)


def _named_tuple(this: Call) -> Value:
    """Return a class with these fields."""
    name, fields = this.get("typename", 0), this.get("field_names", 1) or this.get("fields", 1)
    return dataclass_fields.named_tuple(name, fields, this.site) or UNKNOWN


def _range(this: Call) -> Value:
    numbers = [each.value for each in this.values if isinstance(each, Const)]
    known = len(numbers) == len(this.values) and all(type(each) is int for each in numbers)
    if known and 1 <= len(numbers) <= 3 and (len(numbers) < 3 or numbers[2] != 0):
        span = range(*numbers)
        if len(span) <= UNROLL:
            return Sequence("list", [Const(each) for each in span])
    return Sequence("list", [UNKNOWN], True)


def _listed(this: Call) -> Value:
    """list(), tuple(), sorted(), reversed(): the same items."""
    if not this.arguments:
        return Sequence("list", [], False, this.site, this.frame.context)
    source = this.values[0]
    known = items_of(this.frame, source)
    kind = "tuple" if this.name == "tuple" else "list"
    if known is not None:
        items = list(reversed(known)) if this.name == "reversed" else known
        unordered = this.name == "sorted" and len(items) > 1
        return Sequence(kind, items, unordered, this.site, this.frame.context)
    return Sequence(kind, [operators.element_of(this.frame, source, this.site)], True, this.site)


def _dict(this: Call) -> Value:
    made = Mapping({}, False, this.site, made=this.frame.context)
    for each in this.arguments:
        if each.keyword is not None:
            made.set(each.keyword, each.value)
        elif isinstance(each.value, Mapping):
            made.update(each.value)
        else:
            made.open = True
    return made


def _enumerate(this: Call) -> Value:
    if not this.arguments:
        return UNKNOWN
    source = this.values[0]
    known = items_of(this.frame, source)
    if known is not None:
        pairs: list[Value] = [Sequence("tuple", [Const(n), item]) for n, item in enumerate(known)]
        return Sequence("list", pairs)
    item = operators.element_of(this.frame, source, this.site)
    return Sequence("list", [Sequence("tuple", [UNKNOWN, item])], True)


def _zip(this: Call) -> Value:
    sources = this.values
    known = [items_of(this.frame, each) for each in sources]
    if known and all(each is not None for each in known):
        rows = zip(*[each for each in known if each is not None], strict=False)
        return Sequence("list", [Sequence("tuple", list(row)) for row in rows])
    items = [operators.element_of(this.frame, each, this.site) for each in sources]
    return Sequence("list", [Sequence("tuple", items)], True)


def _map(this: Call) -> Value:
    values = this.values
    if len(values) < 2:
        return UNKNOWN
    item = operators.element_of(this.frame, values[1], this.site)
    made = call(this.frame, values[0], (given(item, this.site),), this.site)
    return Sequence("list", [made], True)


def _super(this: Call) -> Value:
    function = this.frame.function
    if function is None or function.owner is None:
        return UNKNOWN
    rows = function.code.parameters.by_position
    instance = this.frame.lookup(rows[0].name) if rows else UNKNOWN
    return Super(instance, function.owner)


def _len(this: Call) -> Value:
    source = this.values[0] if this.arguments else UNKNOWN
    if isinstance(source, (Sequence, Mapping)) and not source.open:
        return Const(len(source.items))
    return UNKNOWN


def _callable(this: Call) -> Value:
    source = this.values[0] if this.arguments else UNKNOWN
    return Const(True) if isinstance(source, (Function, Bound, Partial, Class)) else UNKNOWN


def _unknown(this: Call) -> Value:
    return UNKNOWN


def _isinstance(this: Call) -> Value:
    """Answer whether a strategy is a TPU's; of anything else this is not known."""
    if len(this.values) != 2:
        return UNKNOWN
    asked, classes = this.values
    if isinstance(asked, Choice):
        asked = running_strategy(this.frame.context, asked) or asked
    if _are_all(classes, seam.OTHER_STRATEGIES):
        return Const(False) if isinstance(asked, Strategy) and asked.kind == "tpu" else UNKNOWN
    if not _are_all(classes, seam.TPU_STRATEGIES):
        return UNKNOWN
    if isinstance(asked, Strategy):
        return UNKNOWN if asked.kind == "unknown" else Const(asked.kind == "tpu")
    tpus = [each for each in options(asked) if isinstance(each, Strategy) and each.kind == "tpu"]
    return tpus[0].used if len(tpus) == 1 else UNKNOWN


def _are_all(classes: Value, names: frozenset[str]) -> bool:
    """Return whether the second argument of `isinstance` is one of these classes, or several."""
    each = classes.items if isinstance(classes, Sequence) and not classes.open else [classes]
    return all(isinstance(one, External) and one.last in names for one in each)


def _stack(this: Call) -> Value:
    return ContextManagerValue(STACK, this.site)


def _first(this: Call) -> Value:
    """next(iterator), and iter(iterable) as the iterable itself."""
    if not this.arguments:
        return UNKNOWN
    if this.name == "iter":
        return this.values[0]
    return operators.element_of(this.frame, this.values[0], this.site)


def _identity(this: Call) -> Value:
    return this.values[0] if this.arguments else UNKNOWN


def _path(this: Call) -> Value:
    """os.path.join: how the path begins, where the first part says so."""
    starts = start_of(this.values[0]) if this.arguments else None
    if starts is None:
        return UNKNOWN
    whole = isinstance(this.values[0], Const)
    return Text(f"{starts}/" if whole and len(this.values) > 1 else starts)


def _wraps(this: Call) -> Value:
    return External("functools.wraps")


_HANDLERS: dict[str, Callable[[Call], Value]] = {
    "builtins.getattr": _getattr,
    "os.path.join": _path,
    "builtins.setattr": _setattr,
    "functools.partial": _partial,
    "collections.namedtuple": _named_tuple,
    "typing.NamedTuple": _named_tuple,
    "builtins.range": _range,
    "builtins.list": _listed,
    "builtins.tuple": _listed,
    "builtins.sorted": _listed,
    "builtins.reversed": _listed,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.map": _map,
    "builtins.super": _super,
    "builtins.len": _len,
    "builtins.callable": _callable,
    "builtins.hasattr": _unknown,
    "builtins.isinstance": _isinstance,
    "builtins.print": _unknown,
    "builtins.next": _first,
    "builtins.iter": _first,
    "builtins.property": _identity,
    "functools.wraps": _wraps,
    "contextlib.ExitStack": _stack,
}
ANSWERED = frozenset(path.rpartition(".")[2] for path in _HANDLERS)
