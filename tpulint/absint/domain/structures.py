"""The tensors inside nested structures; putting into dicts and taking out of them.

Some properties pass on to what is made of values: uniform on all replicas, scalar.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeGuard, TypeVar

from tpulint.absint.domain import objects, values
from tpulint.absint.domain.context import INIT_SCOPE, WITH
from tpulint.absint.domain.events import Context, Tensor, Variable
from tpulint.absint.domain.objects import Class, ExternalObject, Instance, Mapping, Sequence
from tpulint.absint.domain.values import UNKNOWN, Choice, Const, External, Value, join

V = TypeVar("V", bound=Value)
MAX_STRUCTURE_DEPTH = 5  # structures within structures
STRUCTURES = (Choice, Sequence, Mapping)
CODE = (External, values.ModuleValue, Class, objects.Function)


def tensors(value: Value) -> list[Tensor]:
    """Return the tensors in `value`, structures opened."""
    return [tensor for tensor, _ in with_alternatives(value)]


def all_tensors(items: Iterable[Value]) -> list[Tensor]:
    """Return the tensors in all of `items`, structures opened."""
    collected: list[Tensor] = []
    for value in items:
        if isinstance(value, Tensor):
            collected.append(value)
        elif isinstance(value, STRUCTURES):
            collected += tensors(value)
    return collected


def parts(value: Choice | Sequence | Mapping) -> list[Value]:
    """Return the values directly in a structure."""
    if isinstance(value, Choice):
        return list(value.options)
    return list(value.items if isinstance(value, Sequence) else value.items.values())


def with_alternatives(value: Value, *, kinds: bool = False) -> list[tuple[Tensor, bool]]:
    """Return the tensors in `value`, each with whether it is one of several alternatives.

    kinds: of several tensors of one kind none is an alternative.
    """
    return alternatives_of(Tensor, value, kinds=kinds)


def alternatives_of(kind: type[V], value: Value, kinds: bool = False) -> list[tuple[V, bool]]:
    """Return what is of a kind in `value`, as `with_alternatives` does."""
    if isinstance(value, kind):
        return [(value, False)]
    collected: list[tuple[V, bool]] = []
    if isinstance(value, STRUCTURES):
        _collect(kind, value, False, kinds, 1, collected)
    return collected


def _collect(
    kind: type[V],
    structure: Choice | Sequence | Mapping,
    chosen: bool,
    kinds: bool,
    depth: int,
    collected: list[tuple[V, bool]],
) -> None:
    """Add what is of a kind in a structure, without the cost of a generator for each level."""
    if isinstance(structure, Choice):
        chosen = chosen or not (kinds and are_of_one_kind(structure.options))
    for item in parts(structure):
        if isinstance(item, kind):
            collected.append((item, chosen))
        elif depth < MAX_STRUCTURE_DEPTH and isinstance(item, STRUCTURES):
            _collect(kind, item, chosen, kinds, depth + 1, collected)


def are_of_one_kind(items: Iterable[Value]) -> bool:
    """Return whether all are tensors that were made under the same scopes, with the same facts."""
    listed = list(items)
    only_tensors = [item for item in listed if isinstance(item, Tensor)]
    return len(only_tensors) == len(listed) and len(set(map(_kind, only_tensors))) == 1


def _kind(tensor: Tensor) -> Hashable:
    home = None
    if tensor.made is not None:
        # The scopes that say where an operation is, not how it is named.
        places = [
            id(scope)
            for scope in tensor.made.scopes
            if scope.kind != WITH or scope.effect == INIT_SCOPE
        ]
        home = tuple(places), tensor.made.run
    facts = (tensor.sort, tensor.dtype == "string", tensor.data, tensor.unread, tensor.result_of)
    return (home, tensor.clusters, facts)


def holds_only_code(value: Value) -> bool:
    """Return whether `value` is the same each time it is made: modules, functions, classes."""
    if isinstance(value, Mapping):
        return all(isinstance(item, CODE) for item in value.items.values())
    return isinstance(value, CODE)


def put(mapping: Mapping, key: object, item: Value, context: Context) -> None:
    """Set `mapping[key] = item` at `context`; perhaps, if that is under a condition."""
    current = mapping.items.get(key)
    mapping.places.pop(key, None)
    if key in mapping.dropped_at and not mapping.dropped_at[key].excludes(context):
        del mapping.dropped_at[key]
    if current is None or key in mapping.set_at:
        mapping.set_at[key] = context
    if context.runs_once_with(mapping.made):
        mapping.maybe_absent.discard(key)
    elif current is not None:
        item = join([current, item])
    else:
        mapping.maybe_absent.add(key)
        mapping.open = True
    mapping.set(key, item)


def rebind(mapping: Mapping, key: object, item: Value) -> None:
    """Set a key in the expression that makes the dict: what another dict said of it is over."""
    mapping.set_at.pop(key, None)
    mapping.dropped_at.pop(key, None)
    mapping.maybe_absent.discard(key)
    mapping.set(key, item)


def copied(
    mapping: Mapping, made: Context | None, items: dict[object, Value] | None = None
) -> Mapping:
    """Return a copy that is made at `made`: what is put into `mapping` later it does not hold.

    items: those of the copy, where they are copies too.
    """
    return Mapping(
        items=mapping.items if items is None else items,
        open=mapping.open,
        site=mapping.site,
        keys=list(mapping.keys),
        set_at=dict(mapping.set_at),
        made=made,
        maybe_absent=set(mapping.maybe_absent),
        places=dict(mapping.places),
        complete=mapping.complete,
        dropped_at=dict(mapping.dropped_at),
    )


def item_of(mapping: Mapping, key: Value, in_program: bool = False) -> Value:
    """Return `mapping[key]`.

    in_program: a step or a strategy's scope asks: of a registry of many classes it may use any.
    """
    if not isinstance(key, Const):
        return _entry(mapping, key, in_program) if mapping.items else UNKNOWN
    keyless = [item for key, item in mapping.items.items() if isinstance(key, tuple)]
    if mapping.complete and keyless and key.value not in mapping.items:
        return join(keyless)
    current = mapping.items.get(key.value, UNKNOWN)
    # Of the objects of one class each has a key of its own in the dict.
    every = current, *keyless
    paths = {value.path if isinstance(value, ExternalObject) else None for value in every}
    return current if len(paths) == 1 and None not in paths else join(every)


def _entry(mapping: Mapping, key: Value, in_program: bool) -> Value:
    """Return the value of a key that is not seen: a setting may be any of the keys."""
    is_written = mapping.site is not None  # a module's `globals()` have names that no key means
    is_setting = is_written and isinstance(key, (External, values.Opaque))
    # A table with one entry has no other to give.
    is_single = is_written and len(mapping.items) == 1 and not mapping.set_at
    is_table = (
        (is_setting or is_single)
        and not mapping.open
        and all(map(_is_entry, mapping.items.values()))
    )
    unseen = [] if mapping.complete or is_table else [UNKNOWN]
    alternatives = [*_rows(list(mapping.items.values())), *unseen]
    value = values.choice_of_many(alternatives) if is_table else join(alternatives)
    if in_program and len(alternatives) > values.MAX_ALTERNATIVES:
        classes = [value for value in alternatives if isinstance(value, (Class, Instance))]
        if len(classes) >= len(alternatives) - 1:
            value = values.choice_of_many(alternatives)
    return values.DictChoice(value.options) if is_setting and isinstance(value, Choice) else value


def _rows(entries: list[Value]) -> list[Value]:
    """Return the values of a table; of many rows one, whose columns hold what any row holds.

    Each name of a model has its row: `{50: {"block": bottleneck, ...}, ...}`.
    """
    rows = [value for value in entries if isinstance(value, Mapping) and not value.open]
    if len(entries) <= values.MAX_ALTERNATIVES or len(rows) < len(entries):
        return entries
    columns = dict.fromkeys(key for row in rows for key in row.items)
    items = {key: join(row.items[key] for row in rows if key in row.items) for key in columns}
    return [Mapping(items, made=rows[0].made)]


def _is_entry(value: Value) -> bool:
    """Return whether tables have such values: functions, classes, and what a library made."""
    return value.is_callee or value.is_object or isinstance(value, (Class, External, Instance))


def drop(mapping: Mapping, key: object, context: Context) -> None:
    """Do `del mapping[key]` at `context`; perhaps, if that is under a condition."""
    if context.runs_once_with(mapping.made):
        mapping.remove(key)
        mapping.set_at.pop(key, None)
    elif key in mapping.items:
        mapping.maybe_absent.add(key)
        mapping.dropped_at[key] = context
        mapping.open = True


def start_of(value: Value) -> str | None:
    """Return the known beginning of a string; None where it is unknown, or `value` is no string."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, str) else None
    return value.starts if isinstance(value, (values.Text, Tensor)) else None


def end_of(value: Value) -> str:
    """Return what is known of the end of a string; empty where nothing is."""
    if isinstance(value, Const):
        return value.value if isinstance(value.value, str) else ""
    return value.ends if isinstance(value, values.Text) else ""


def uniform(items: Iterable[Value]) -> bool:
    """Return whether every replica has the same in `items`: settings, and what they agreed on."""
    return all(map(_uniform, items))


def _uniform(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.uniform or (value.made is not None and value.made.computation is None)
    if isinstance(value, Variable):
        return is_counter(value)
    if isinstance(value, Sequence):
        return not value.open and uniform(value.items)
    if isinstance(value, Choice):
        return uniform(value.options)
    if isinstance(value, values.Bound):  # `config.steps`
        return isinstance(value.function, External) and _uniform(value.receiver)
    if isinstance(value, ExternalObject):
        return value.context.computation is None
    # Python's, read once for all replicas.
    return isinstance(value, (Const, External, values.Number, values.Opaque))


def is_counter(variable: Variable) -> bool:
    """Return whether it counts steps: every replica counts the same ones."""
    return variable.sort == "step" or variable.counts


def is_scalar(value: Value) -> bool:
    """Return whether `value` certainly becomes a scalar, as a tensor."""
    return all(map(_is_single_number, value.options))


def _is_single_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (bool, int, float))
    if isinstance(value, Variable):
        return value.sort == "step"
    if isinstance(value, Tensor):
        return value.shape == ()
    return is_flag(value) or isinstance(value, values.Number)


def is_flag(value: Value) -> TypeGuard[External]:
    """Return whether `value` is one of the flags of a command line."""
    return isinstance(value, External) and ".FLAGS." in f".{value.path}"


def of_scalars(values: Iterable[Value]) -> bool:
    """Return whether an operator on `values` gives a scalar."""
    listed = list(values)
    return bool(listed) and all(map(is_scalar, listed))
