"""Python's own functions and containers, as far as their results matter to the analysis."""

from __future__ import annotations

from tpulint.absint.domain import objects, values
from tpulint.absint.domain.events import Argument, Tensor
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Mapping, Sequence, mro
from tpulint.absint.domain.structures import copied, drop, put, rebind
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Partial, Text, Value, join
from tpulint.absint.interpreter import attributes, calls, dataclass_fields, operators, transfer
from tpulint.absint.interpreter.expressions import MAX_UNROLLED_ITEMS
from tpulint.absint.interpreter.operators import element_of, items_of
from tpulint.frontends.tensorflow.hooks import answer_of_isinstance, running_strategy
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.models.estimators import RUN_CONFIG, is_run_config
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, model
from tpulint.frontends.tensorflow.shapes import shape_of
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.syntax import nodes

# Methods of lists, sets and deques after which the items, or their places, are not known.
REORDERS = tf_names.words("clear remove discard sort reverse update rotate extendleft")
CHANGES_TEXT = frozenset(["lower", "upper", "strip", "casefold"])
ASKS_TEXT = frozenset(["startswith", "endswith"])


@model("builtins.getattr")
def _getattr(call: Call) -> Value:
    values = call.values
    if len(values) < 2 or not isinstance(values[1], Const):
        return UNKNOWN
    is_context_state = values[1].value in tf_names.CONTEXT_STATE
    if isinstance(values[0], (objects.Instance, Class)) or len(values) == 2 or is_context_state:
        return attributes.get(call.frame, values[0], str(values[1].value), call.site)
    return UNKNOWN


@model("builtins.setattr")
def _setattr(call: Call) -> Value:
    values = call.values
    if len(values) == 3 and isinstance(values[1], Const):
        attributes.put(call.frame, values[0], str(values[1].value), values[2])
    elif len(values) == 3:
        attributes.put_any(call.frame, values[0])
    return NONE


@model("builtins.globals")
def _globals(call: Call) -> Value:
    """Return the names of the module, as far as it is read, but for the functions around."""
    return Mapping(call.frame.session.inactive_names(call.frame.module), True)


@model("builtins.eval")
def _eval(call: Call) -> Value:
    """Return what a name means, or the functions of the module that only a string can name."""
    module, text = call.frame.module, call.values[0] if call.values else UNKNOWN
    names = call.frame.session.module_env(module).names
    if isinstance(text, Const):
        return names.get(str(text.value), UNKNOWN)
    mentioned = {path for node in module.nodes() if (path := nodes.dotted_path(node))}
    unnamed = [
        value
        for name, value in names.items()
        if isinstance(value, Function) and value.module is module and name not in mentioned
    ]
    return join(unnamed) if len(unnamed) > 1 else UNKNOWN


@model("functools.partial")
def _partial(call: Call) -> Value:
    plain = [argument for argument in call.arguments if argument.keyword is None]
    if not plain or any(argument.star for argument in call.arguments):
        return UNKNOWN
    named = tuple((str(it.keyword), it.value) for it in call.arguments if it.keyword)
    first = tuple(argument.value for argument in plain[1:])
    callee = plain[0].value
    partials = [Partial(option, first, named) for option in callee.options]
    return callee.each(partials) if isinstance(callee, values.Choice) else partials[0]


@model("collections.namedtuple", "typing.NamedTuple")
def _named_tuple(call: Call) -> Value:
    name, fields = call.get("typename", 0), call.get("field_names", 1) or call.get("fields", 1)
    return dataclass_fields.named_tuple(name, fields, call.site) or UNKNOWN


@model("builtins.range")
def _range(call: Call) -> Value:
    numbers = [value.value for value in call.values if isinstance(value, Const)]
    whole = [number for number in numbers if type(number) is int]
    if len(whole) == len(call.values) and 1 <= len(whole) <= 3 and 0 not in whole[2:]:
        span = range(*whole)
        if len(span) <= MAX_UNROLLED_ITEMS:
            return Sequence("list", [Const(number) for number in span])
    return Sequence("list", [UNKNOWN], True)


NUMBERS: dict[str, type[float | str]] = {"float": float, "int": int, "bool": bool, "str": str}


@model(*(f"builtins.{name}" for name in NUMBERS))
def _number(call: Call) -> Value | None:
    """Model `float(2)` and `str("a")`: of a number or text that is known, another one."""
    number = call.values[0] if len(call.values) == 1 else None
    of_kind = (Text,) if call.name == "str" else (values.Number, values.Scaled)
    if isinstance(number, of_kind) and call.name != "bool":
        return number
    if isinstance(number, Tensor) and number.sort == "tensor" and call.name in tf_names.CONVERTED:
        # autograph/operators/py_builtins.py: an operation casts it.
        return number if call.frame.context.converts_control_flow else None
    taken = (int, float, NUMBERS[call.name])
    if not isinstance(number, Const) or not isinstance(number.value, taken):
        return None if call.name != "str" or isinstance(number, Const | None) else Text("")
    try:
        return Const(NUMBERS[call.name](number.value))
    except (OverflowError, ValueError):  # of infinity, or of no number
        return None


SETS = ("set", "frozenset")


@model(*(f"builtins.{name}" for name in ("list", "tuple", "sorted", "reversed", *SETS)))
@model("collections.deque")
def _list(call: Call) -> Value:
    """Return the same items; a set, and the `maxlen` of a deque, may leave some out."""
    kind = call.name if call.name == "tuple" else "set" if call.name in SETS else "list"
    if not call.arguments:
        return Sequence(kind, [], kind == "set", call.site, call.frame.context)
    source = call.values[0]
    if call.name != "sorted":  # which autograph converts
        transfer.note_iteration(call.frame, source, call.site)
    source_items = items_of(source)
    if source_items is not None:
        items = list(reversed(source_items)) if call.name == "reversed" else source_items
        is_open = kind == "set" or (call.name == "sorted" and len(items) > 1)
        is_open = is_open or (call.name == "deque" and len(call.arguments) > 1)
        return Sequence(kind, items, is_open, call.site, call.frame.context)
    return Sequence(kind, [element_of(call.frame, source, call.site)], True, call.site)


@model("itertools.chain", "itertools.chain.from_iterable")
def _chain(call: Call) -> Value:
    """chain(): the items of one iterable after another, up to the first that is not known."""
    rows: list[Value] | None = call.values
    if call.name == "from_iterable":
        rows = items_of(call.values[0]) if call.values else None
    joined = Sequence("list", [], rows is None, call.site)
    for row in rows or ():
        items = items_of(row)
        joined.extend([element_of(call.frame, row, call.site)] if items is None else items)
        joined.open = joined.open or items is None
    return joined


@model("builtins.dict", "collections.OrderedDict")
def _dict(call: Call) -> Value:
    mapping = Mapping({}, False, call.site, made=call.frame.context)
    for argument in call.arguments:
        if argument.keyword is not None:
            rebind(mapping, argument.keyword, argument.value)
        elif isinstance(argument.value, Mapping):
            mapping.update(argument.value)
        else:
            mapping.open = True
    return mapping


@model("builtins.enumerate")
def _enumerate(call: Call) -> Value:
    if not call.arguments:
        return UNKNOWN
    source = call.values[0]
    items = items_of(source)
    if items is not None:
        pairs: list[Value] = [Sequence("tuple", [Const(n), item]) for n, item in enumerate(items)]
        return Sequence("list", pairs)
    item = element_of(call.frame, source, call.site)
    return Sequence("list", [Sequence("tuple", [UNKNOWN, item])], True)


@model("builtins.zip")
def _zip(call: Call) -> Value:
    sources = call.values
    columns = [items_of(source) for source in sources]
    if columns and all(column is not None for column in columns):
        rows = zip(*[column for column in columns if column is not None], strict=False)
        return Sequence("list", [Sequence("tuple", list(row)) for row in rows])
    items = [element_of(call.frame, source, call.site) for source in sources]
    return Sequence("list", [Sequence("tuple", items)], True)


@model("builtins.map")
def _map(call: Call) -> Value:
    if len(call.values) < 2:
        return UNKNOWN
    item = element_of(call.frame, call.values[1], call.site)
    return Sequence("list", [call.call_with(call.values[0], item)], True)


@model("functools.reduce")
def _reduce(call: Call) -> Value:
    """Call the function once per item that is known, on what the call before it returned.

    Of other iterables it is called once: what it does there it does for every item.
    """
    if len(call.values) < 2:
        return UNKNOWN
    function, source = call.values[:2]
    items = items_of(source)
    if items is None or len(items) > MAX_UNROLLED_ITEMS:
        item = element_of(call.frame, source, call.site)
        items = [item] if len(call.values) > 2 else [item, item]
    items = [*call.values[2:3], *items]
    if not items:
        return UNKNOWN  # Python refuses an empty iterable
    result = items[0]
    for item in items[1:]:
        result = call.call_with(function, result, item)
    return result


@model("builtins.filter")
def _filter(call: Call) -> Value:
    """Return the items of an iterable, of which each may be missing."""
    if len(call.values) != 2:
        return UNKNOWN
    function, source = call.values
    item = element_of(call.frame, source, call.site)
    if function != NONE:
        call.call_with(function, item)
    items = items_of(source)
    return Sequence("list", [item] if items is None else items, True)


@model("itertools.starmap")
def _starmap(call: Call) -> Value:
    """Call the function once per row that is known, with the items of the row."""
    if len(call.values) != 2:
        return UNKNOWN
    function, source = call.values
    rows = items_of(source)
    if rows is not None and len(rows) <= MAX_UNROLLED_ITEMS:
        return Sequence("list", [_call_with_row(call, function, row) for row in rows])
    row = element_of(call.frame, source, call.site)
    return Sequence("list", [_call_with_row(call, function, row)], True)


def _call_with_row(call: Call, function: Value, row: Value) -> Value:
    items = items_of(row)
    if items is not None:
        return call.call_with(function, *items)
    return calls.call(call.frame, function, (Argument(None, "*", row, call.site),), call.site)


# Python finds the class and the first parameter by the function that it stands in.
@model("builtins.super")
def _super(call: Call) -> Value:
    function = call.frame.function
    if function is None or function.owner is None:
        return UNKNOWN
    rows = function.code.parameters.by_position
    instance = call.frame.lookup(rows[0].name) if rows else UNKNOWN
    return objects.Super(instance, function.owner)


@model("builtins.len")
def _len(call: Call) -> Value:
    source = call.values[0] if call.arguments else UNKNOWN
    if isinstance(source, (Sequence, Mapping)) and not source.open:
        return Const(len(source.items))
    shape = shape_of(source) if isinstance(source, ExternalObject) else None
    return UNKNOWN if shape is None else Const(len(shape))


@model("builtins.callable")
def _callable(call: Call) -> Value:
    source = call.values[0] if call.arguments else UNKNOWN
    if isinstance(source, ExternalObject) and naming.OPTIMIZER.is_in(source.last):
        return Const(False)
    return Const(True) if isinstance(source, (*CALLABLE, Class)) else UNKNOWN


# Programs ask which strategy they have before they choose a branch.
COMPOSITES = frozenset(["SparseTensor", "SparseTensorValue", "RaggedTensor"])


@model("builtins.isinstance")
def _isinstance(call: Call) -> Value:
    """Answer whether a strategy is a TPU's, and a constant or a dict of one of Python's types."""
    if len(call.values) != 2:
        return UNKNOWN
    value, classes = call.values
    if isinstance(value, values.Choice):
        value = running_strategy(call.frame.context, value) or value
    if isinstance(value, Tensor) and _are_all(classes, COMPOSITES):
        # What a TPU compiles is given dense tensors. Elsewhere, it may be either.
        return Const(False) if call.frame.context.on_device else UNKNOWN
    if _are_all(classes, tf_names.OTHER_STRATEGIES):
        return Const(False) if isinstance(value, Strategy) and value.kind == "tpu" else UNKNOWN
    if not _are_all(classes, tf_names.TPU_STRATEGIES):
        verdicts = {_is_of_type(option, classes) for option in value.options}
        verdict = verdicts.pop() if len(verdicts) == 1 else None
        return answer_of_isinstance(call.frame.context, classes, verdict)
    if isinstance(value, Strategy):
        return UNKNOWN if value.kind == "unknown" else Const(value.kind == "tpu")
    tpus = [it for it in value.options if isinstance(it, Strategy) and it.kind == "tpu"]
    return tpus[0].used if len(tpus) == 1 else UNKNOWN


# A sequence may stand for a generator or a view, too: it is none of these.
NO_SEQUENCES = frozenset(["str", "int", "float", "bool", "dict"])


def _is_of_type(instance: Value, classes: Value) -> bool | None:
    """Return whether a value is of one of Python's types; None where that is not known."""
    listed = classes.items if isinstance(classes, Sequence) and not classes.open else [classes]
    names = {
        cls.last if isinstance(cls, External) and cls.path.startswith("builtins.") else ""
        for cls in listed
    }
    match instance:
        case objects.Instance():
            order = mro(instance.cls)
            is_seen = all(type(base) in (Class, External) for base in order)
            of_project = instance.site is not None and all(isinstance(cls, Class) for cls in listed)
            # What stands for many may be a subclass's.
            is_none = False if is_seen and of_project else None
            return any(cls in order for cls in listed) or is_none
        case Tensor(sort="tensor") if instance.operation or (instance.of_all and instance.single):
            return False if names <= NO_SEQUENCES | {"list", "tuple", "set"} else None
        case Const(value):
            own = {cls.__name__ for cls in type(value).__mro__}
        case Mapping():
            own = {"dict", "object"}
        case Sequence():
            return False if names <= NO_SEQUENCES else None
        case ExternalObject() if instance.last == RUN_CONFIG:
            return is_run_config(instance, listed)
        case _:
            return None
    if names & own:
        return True
    return None if "" in names else False


def _are_all(classes: Value, names: frozenset[str]) -> bool:
    """Return whether the second argument of `isinstance` is one of these classes, or several."""
    listed = classes.items if isinstance(classes, Sequence) and not classes.open else [classes]
    return all(isinstance(cls, External) and cls.last in names for cls in listed)


@model("?.parse_args", "?.parse_known_args")
def _parse_args(call: Call) -> Value:
    """Return the options of the command line: each is one thing, however often it is read."""
    parsed = values.Opaque(tf_names.COMMAND_LINE, is_setting=True)
    if call.name == "parse_known_args":
        return Sequence("tuple", [parsed, Sequence("list", [], True)])
    return parsed


@model("builtins.next")
def _next(call: Call) -> Value:
    return operators.next_of(call.frame, call.values[0], call.site) if call.values else UNKNOWN


@model("functools.wraps")
def _wraps(call: Call) -> Value:
    """Model `wraps(wrapped)`, a decorator that hands back the function that it is given."""
    if len(call.values) > 1:
        return call.values[0]
    wrapped = call.get("wrapped", 0) or UNKNOWN
    return Partial(External("functools.wraps"), (), (("wrapped", wrapped),))


@model("absl.app.run", "tf.app.run")
def _run_main(call: Call) -> Value:
    """Leave `main` of `app.run(main)` to its turn, as a function that is passed to nothing."""
    for value in (call.get("main", 0) or NONE).options:
        function = objects.function_of(value)
        if function is not None:
            call.frame.session.mains.add(id(function.code))
    return NONE


# Lists, tuples and sets: one kind of value, `Sequence`


@model("builtins.list.*")
def _list_method(call: Call) -> Value:
    """Change a list; what is put into it under a condition may be missing, so it is open then."""
    items, values = call.receiver, call.values
    assert isinstance(items, Sequence)
    match call.name:
        case "append" | "add" | "appendleft" if values:
            add = items.add_first if call.name == "appendleft" else items.add
            add(values[0])
            items.open = items.open or not call.frame.context.runs_once_with(items.made)
            return NONE
        case "insert" if len(values) == 2:
            items.add(values[1])
            items.open = True  # the place is not followed
            return NONE
        case "extend" if values:
            row = values[0] if isinstance(values[0], Sequence) else None
            element = element_of(call.frame, values[0], call.site) if row is None else UNKNOWN
            items.extend([element] if row is None else row.items)
            is_conditional = not call.frame.context.runs_once_with(items.made)
            items.open = items.open or is_conditional or row is None or row.open
            return NONE
        case "pop" | "popleft":
            items.open = True
            return join(items.items) if items.items else UNKNOWN
        case "copy" | "union":
            return Sequence(items.kind, list(items.items), items.open, call.site)
        case name if name in REORDERS:
            items.open = True
    return UNKNOWN


# Dicts


def _get_item(call: Call, items: Mapping) -> Value:
    values = call.values
    if values:
        operators.fill(call.frame, items, values[0])
    key = values[0].value if values and isinstance(values[0], Const) else None
    value = items.items.get(key)
    if call.name == "get" and values and not isinstance(values[0], Const) and items.items:
        return operators.subscript(call.frame, items, values[0], call.site)
    default = values[1] if len(values) > 1 else NONE
    if value is not None and key in items.maybe_absent:
        value = join([value, default])
    if call.name == "pop" and key is not None:
        drop(items, key, call.frame.context)
    if value is not None:
        return value
    if call.name == "setdefault" and key is not None:
        put(items, key, default, call.frame.context)
    return UNKNOWN if items.open else default


@model("six.iteritems", "six.itervalues", "six.iterkeys", "six.viewitems", "six.viewvalues")
def _of_six(call: Call) -> Value:
    """Return what the method of the dict gives, as on Python 3."""
    source = call.values[0] if call.arguments else UNKNOWN
    name = call.name.removeprefix("iter").removeprefix("view")
    method = attributes.get(call.frame, source, name, call.site)
    return calls.call(call.frame, method, (), call.site, name)


@model("builtins.dict.*")
def _dict_method(call: Call) -> Value:
    items = call.receiver
    assert isinstance(items, Mapping)
    match call.name:
        case "get" | "pop" | "setdefault":
            return _get_item(call, items)
        case "values":
            return Sequence("list", list(items.items.values()), items.open)
        case "keys":
            keys: list[Value] = [Const(key) for key in items.items if not isinstance(key, tuple)]
            return Sequence("list", keys, items.open)
        case "items":
            pairs: list[Value] = [
                Sequence("tuple", [UNKNOWN if isinstance(key, tuple) else Const(key), item])
                for key, item in items.items.items()
            ]
            return Sequence("list", pairs, items.open)
        case "copy":
            return copied(items, call.frame.context)
        case "update":
            _update(call, items)
            return NONE
        case "clear" | "popitem":
            items.maybe_absent.update(items.items)
            items.open = True
    return UNKNOWN


def _update(call: Call, items: Mapping) -> None:
    for argument in call.arguments:
        if argument.keyword is not None:
            put(items, argument.keyword, argument.value, call.frame.context)
        elif isinstance(argument.value, Mapping):
            for key, item in list(argument.value.items.items()):
                # A key that is not seen gets one of its own here, so that it hides no other.
                new = ("?", len(items.items)) if isinstance(key, tuple) else key
                put(items, new, item, call.frame.context)
            items.complete = items.complete and not argument.value.open
            items.open = items.open or argument.value.open
        else:
            items.open = True
            for key, item in items.items.items():
                items.set(key, join([item, UNKNOWN]))


# Strings, functions, context managers


@model("builtins.str.*")
def _of_text(call: Call) -> Value:
    """Return another string, or how this one begins or ends."""
    text = call.receiver.value if isinstance(call.receiver, Const) else None
    arguments = [value.value for value in call.values if isinstance(value, Const)]
    if not isinstance(text, str) or not all(isinstance(value, str) for value in arguments):
        return UNKNOWN
    if call.name in CHANGES_TEXT and not call.arguments:
        return Const(getattr(text, call.name)())
    if call.name in ASKS_TEXT and len(arguments) == len(call.arguments) == 1:
        return Const(getattr(text, call.name)(arguments[0]))
    return UNKNOWN
