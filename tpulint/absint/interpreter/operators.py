"""Operators, subscripts and iteration over abstract values."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeGuard

from tpulint.absint.domain import objects, values
from tpulint.absint.domain.events import FOR, ApiCall, Argument, MixedOperands, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import end_of, is_flag, item_of, of_scalars, start_of, uniform
from tpulint.absint.domain.values import UNKNOWN, Const, External, Opaque, Text, Value, join
from tpulint.absint.interpreter import attributes, calls, dataclass_fields, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.syntax.nodes import NOWHERE, Constant, Expression, first_place

MAX_REPEATED_ITEMS = 64
MAX_TEXT_LENGTH = 4096  # characters of a string that is put together
MAX_BASE, MAX_EXPONENT = 1024, 64  # of a power of whole numbers
# Operators whose operands have one dtype, which is that of the result, or is compared.
ARITHMETIC = frozenset(["Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Power", "Modulo"])
WEIGH = "weigh"  # the operator of a product with a number that is written there
# A factor that is a power of two may be the share of one replica, which scales a loss down.
SHARES = frozenset(2.0**-power for power in range(2, 16))
ORDERS = {
    "LessThan": operator.lt,
    "LessThanEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanEqual": operator.ge,
}
FOLDED = {"Add": operator.add, "Subtract": operator.sub, "Multiply": operator.mul}
EQUALITY = ("Equal", "NotEqual")
COMPARISONS = frozenset([*EQUALITY, *ORDERS])
NEGATIVE = frozenset(["NotEqual", "IsNot", "NotIn"])
ENVIRONMENT = "os.environ"  # each of its variables is set for a whole run
KEEPS_DTYPE = ARITHMETIC | {"Minus", "Plus"}


def operation(
    frame: Frame,
    items: Iterable[Value],
    site: Site,
    name: str,
    operands: tuple[Expression, ...] = (),
) -> Value:
    """Apply an operator, which builds an operation on tensors and variables."""
    frame.count_possible_operation()
    listed = list(items)
    if name == "not" and len(listed) == 1 and isinstance(listed[0], values.ContextQuery):
        return listed[0]
    drawn = transfer.first_trace_time_value(listed)
    if not any(map(_may_be_touched, listed)) or _is_of_text(frame, name, listed):
        return drawn or (values.Number() if _is_arithmetic(name, listed) else UNKNOWN)
    if drawn is not None:
        transfer.note_effect(frame, "computes", drawn.path, site, drawn.site)
    sites = _sites(frame, operands, site)
    transfer.touch(frame, listed, site, name, operands=sites)
    transfer.note_operands(frame, listed, sites or (site,) * len(listed), name)
    result = transfer.result(frame, listed, site)
    # `step % n`: every how many steps something happens is a setting.
    result.uniform = uniform(listed) or (
        name == "Modulo" and uniform(listed[:1]) and not _may_be_touched(listed[1])
    )
    result.shape = () if name != "getitem" and of_scalars(listed) else None
    result.single = _is_single(name, listed)
    result.dtype = _dtype(frame, name, listed, site)
    if result.operation is not None:
        # Terms of losses are multiplied by numbers that are written there.
        numbers = [node.value for node in operands if isinstance(node, Constant)]
        is_weighed = name == "Multiply" and numbers and SHARES.isdisjoint(numbers)
        result.operation.operator = WEIGH if is_weighed else name
    return result


def _is_arithmetic(name: str, operands: list[Value]) -> bool:
    """Return whether flags and constants give a number: a flag may be a text, or its format."""
    if name in ("Add", "Modulo") and all(map(is_flag, operands)):
        return False
    return name in ARITHMETIC and of_scalars(operands)


def _is_single(name: str, operands: list[Value]) -> bool:
    """Return whether an operator gives one tensor: parts of tuples that are not seen are joined."""
    if name == "Multiply" and any(map(_may_be_list, operands)):
        others = [
            value for value in operands if not isinstance(value, (Tensor, Variable, Sequence))
        ]
        return all(isinstance(value, Const) and isinstance(value.value, float) for value in others)
    if name != "Add":
        return name != "getitem"
    are_parts = all(isinstance(part, Tensor) and _is_item(part) for part in operands)
    return not are_parts and not any(isinstance(part, Sequence) for part in operands)


def _may_be_list(value: Value) -> bool:
    """Return whether it may be a Python list, as gradients are: an integer repeats it."""
    return isinstance(value, Sequence) or (isinstance(value, Tensor) and not value.single)


def _is_item(value: Tensor) -> bool:
    """Return whether it was taken by an index or a slice, perhaps of a tuple."""
    return value.operation is not None and value.operation.operator == "getitem"


def _dtype(frame: Frame, name: str, operands: list[Value], site: Site) -> str | None:
    """Return the dtype of what an operator makes, and note where its operands have several."""
    if name == "getitem":
        return operands[0].dtype if isinstance(operands[0], Tensor) else None
    dtypes = {operand.dtype for operand in operands if isinstance(operand, Tensor)}
    seen = frozenset(filter(None, dtypes))
    if len(seen) > 1 and name in ARITHMETIC | COMPARISONS and frame.recorded is not None:
        frame.recorded.mixed.append(MixedOperands(name, seen, site, frame.context))
    # The quotient of whole numbers has another dtype.
    is_kept = name in KEEPS_DTYPE and (name != "Divide" or "float" in min(seen, default=""))
    return min(seen) if is_kept and len(dtypes) == len(seen) == 1 else None


def _may_be_touched(value: Value) -> bool:
    """Return whether it is a tensor or a variable, or may be one."""
    if not isinstance(value, values.Choice):
        return isinstance(value, (Tensor, Variable))
    return any(map(_may_be_touched, value.options))


# A TPU has no strings, so this is no tensor: a key of what may be a dict, or a part of such a key.
def _is_of_text(frame: Frame, name: str, operands: list[Value]) -> bool:
    """Return whether device code compares something with a text, or adds it to one."""
    if name not in COMPARISONS and name != "Add":
        return False
    return frame.context.on_device and any(start_of(operand) is not None for operand in operands)


def _sites(frame: Frame, operands: tuple[Expression, ...], site: Site) -> tuple[Site, ...]:
    """Return the sites of the operands, for findings about one of them; without one, `site`."""
    places = [first_place(node) for node in operands]
    return tuple(site if place == NOWHERE else frame.site(place) for place in places)


def compare(
    frame: Frame, op: str, left: Value, right: Value, site: Site, operands: tuple[Expression, ...]
) -> Value:
    for option in (*left.options, *right.options):
        if isinstance(option, values.ContextQuery):
            return option
    answer = _of_setting(frame, op, left, right)
    if answer is not None:
        return answer
    if op in ("Is", "IsNot"):
        return _verdict(_identical(left, right), op == "Is")
    # Other numbers may count the rounds of a loop, which is read once.
    has_bool = any(
        isinstance(side, Const) and isinstance(side.value, bool) for side in (left, right)
    )
    if op in ORDERS and has_bool and _is_number(left) and _is_number(right):
        return Const(ORDERS[op](left.value, right.value))
    if op in EQUALITY:
        if isinstance(right, Const):
            equal = {
                option.value == right.value if isinstance(option, Const) else None
                for option in left.options
            }
            if len(equal) == 1 and None not in equal:
                return _verdict(equal.pop(), op == "Equal")
        if _are_members(frame, left, right):
            return _verdict(left == right, op == "Equal")
        if isinstance(left, Opaque) and isinstance(right, (Const, External)):
            if isinstance(right, External):
                same = left.equal_to(right.last, frame.library.members(right))
            else:
                same = left.equal_to(repr(right.value))
            return same if op == "Equal" else same.negated()
        other = left if right == values.NONE else right
        has_tensor = any(isinstance(part, Tensor) for part in other.options)
        if has_tensor and values.NONE in (left, right):  # no tensor is compared with it
            return _verdict(_identical(other, values.NONE), op == "Equal")
    if op in ("In", "NotIn"):
        answer = _is_member(frame, left, right, op == "In")
        return _verdict(_held(frame, left, right), op == "In") if answer is None else answer
    return operation(frame, [left, right], site, op, operands)


def _verdict(answer: bool | None, wanted: bool) -> Value:
    return UNKNOWN if answer is None else Const(answer is wanted)


def _of_setting(frame: Frame, op: str, left: Value, right: Value) -> Opaque | None:
    """Return the answer to a comparison of the user's setting with a constant, or its opposite."""
    if op in ("In", "NotIn"):
        holder, item = _setting(frame, right), left
        answer = holder.holds(repr(item)) if holder and isinstance(item, Const) else None
    elif op in ("Equal", "NotEqual", "Is", "IsNot") and isinstance(right, Const):
        # `is` compares with None, True and False as `==` does.
        is_equality = "Is" not in op or isinstance(right.value, bool | None)
        compared = _setting(frame, left) if is_equality else None
        answer = compared.equal_to(repr(right)) if compared else None
    else:
        return None
    return answer.negated() if answer is not None and op in NEGATIVE else answer


def _setting(frame: Frame, value: Value) -> Opaque | None:
    """Return what stands for a setting of the user: it has one value in a whole run."""
    if is_flag(value) or (isinstance(value, External) and value.path == ENVIRONMENT):
        return frame.session.flag(value.path)
    return value if isinstance(value, Opaque) and value.is_setting else None


def _is_number(value: Value) -> TypeGuard[Const]:
    return isinstance(value, Const) and isinstance(value.value, (bool, int, float))


def _are_members(frame: Frame, *items: Value) -> bool:
    """Return whether all are members of one enumeration: no two of these are one."""
    groups = [isinstance(item, External) and frame.library.members(item) for item in items]
    return all(groups) and len(set(groups)) <= 1


def _is_member(frame: Frame, value: Value, members: Value, inside: bool) -> Opaque | None:
    """Return the answer to `value in members`, or its opposite, as that to one comparison.

    To be one of all members but one is not to be the last of them.
    """
    if not (isinstance(value, Opaque) and isinstance(members, Sequence)):
        return None
    listed = [value for value in members.items if isinstance(value, External)]
    if members.open or not listed or not _are_members(frame, *members.items):
        return None
    every, names = frame.library.members(listed[0]), frozenset(value.last for value in listed)
    if len(names) not in (1, len(every) - 1):
        return None
    if len(names) > 1:
        names, inside = every - names, not inside
    same = value.equal_to(min(names), every)
    return same if inside else same.negated()


def _held(frame: Frame, key: Value, holder: Value) -> bool | None:
    """Return the answer to `in` for a dict; the others are not modelled."""
    if not isinstance(holder, Mapping):
        return None
    fill(frame, holder, key)
    if not isinstance(key, Const):
        return None
    if key.value in holder.items and key.value not in holder.maybe_absent:
        return True
    return None if holder.open else False


def fill(frame: Frame, holder: Mapping, key: Value) -> None:
    """Read the modules that may have put `key` into a dict, where what was read has not."""
    maker_site = holder.site
    if maker_site is not None and not (isinstance(key, Const) and key.value in holder.items):
        frame.session.read_registrars(maker_site.module.path)


def _identical(left: Value, right: Value) -> bool | None:
    """Return the answer to `is` where one side is None; other uses of `is` are not modelled."""
    if right != values.NONE:
        return None
    are_none = {option == values.NONE for option in left.options}
    seen = (Const, Tensor, Variable, objects.Function, objects.Class, Instance, Sequence, Mapping)
    is_seen = all(isinstance(option, seen) for option in left.options)
    return are_none.pop() if is_seen and len(are_none) == 1 else None


def binary(
    frame: Frame,
    op: str,
    left: Value,
    right: Value,
    site: Site,
    operands: tuple[Expression, ...] = (),
) -> Value:
    if isinstance(left, Sequence) and isinstance(right, Sequence) and op == "Add":
        is_open = left.open or right.open
        return Sequence(left.kind, left.items + right.items, is_open, site)
    for base, times in ((left, right), (right, left)):
        if isinstance(base, Sequence) and op == "Multiply":
            return repeated(base, times, site)
    if isinstance(left, Const) and isinstance(right, Const):
        return folded(op, left.value, right.value)
    if isinstance(left, values.Scaled) or isinstance(right, values.Scaled):
        scaled = _scaled(op, left, right)
        if scaled is not None:
            return scaled
    if op == "Modulo" and isinstance(left, Const) and isinstance(left.value, str):
        _note_formatted_numbers(frame, left.value, right, site)
    starts = start_of(left)
    items = [left, right] if starts is not None else [_present(left), _present(right)]
    result = operation(frame, items, site, op, operands)
    if starts is None:
        ends = end_of(right) if op == "Add" and result is UNKNOWN else ""
        return Text("", ends) if ends else result
    return _text_with_start(op, starts, right, result)


def _present(value: Value) -> Value:
    """Return an operand that may be None: with None there is nothing to compute."""
    if not isinstance(value, values.Choice):
        return value
    return join([option for option in value.options if option != values.NONE])


def _text_with_start(op: str, starts: str, right: Value, result: Value) -> Value:
    """Return `"text" + unknown`, or `"text %s" % unknown`."""
    if op not in ("Add", "Modulo"):
        return result
    text = _formatted(starts) if op == "Modulo" else Text(starts, end_of(right))
    if isinstance(result, Tensor):
        result.starts = text.starts
        return result
    return text if result is UNKNOWN else result


_CONVERSION = re.compile(r"%(\(\w+\))?[-#0 +]*\d*(?:\.\d+)?[hlL]?(.)")
_TO_NUMBER = "diouxXeEfFgG"


def _note_formatted_numbers(frame: Frame, template: str, right: Value, site: Site) -> None:
    """Note what `"%d" % right` needs as a number."""
    conversions = [match for match in _CONVERSION.finditer(template) if match[2] != "%"]
    if any(match[1] or match[2] == "*" for match in conversions):
        return
    items = right.items if isinstance(right, Sequence) and right.kind == "tuple" else [right]
    for match, item in zip(conversions, items, strict=False):
        if match[2] in _TO_NUMBER:
            transfer.note_formatting(frame, item, "`%`", site)


_LAST_CONVERSION = re.compile(r".*%(?:\(\w+\))?[-#0 +]*\d*(?:\.\d+)?.", re.DOTALL)


def _formatted(template: str) -> Text:
    """Return `"text %s" % unknown`: what precedes the first conversion, and follows the last."""
    return Text(template.partition("%")[0], _LAST_CONVERSION.sub("", template))


def put_together(parts: list[Value]) -> Value:
    """`f"text {unknown}"`: what is known of its beginning and of its end."""
    whole: Value = Const("")
    for part in parts:
        starts = start_of(whole)
        if isinstance(whole, Const) and isinstance(part, Const) and isinstance(part.value, str):
            whole = folded("Add", starts, part.value)
        elif isinstance(whole, Const):
            whole = Text(f"{starts}{start_of(part) or ''}", end_of(part))
        elif isinstance(part, Const) and isinstance(part.value, str):
            whole = Text(starts or "", end_of(whole) + part.value)
        else:
            whole = Text(starts or "", end_of(part))
    return whole if start_of(whole) or end_of(whole) else UNKNOWN


def repeated(base: Sequence, times: Value, site: Site) -> Sequence:
    """Return `[x] * n`: the same items n times, or at least once where n is not known."""
    count = times.value if isinstance(times, Const) else None
    if isinstance(count, int) and 0 <= count * max(len(base.items), 1) <= MAX_REPEATED_ITEMS:
        return Sequence(base.kind, base.items * count, base.open, site)
    only = base.items[0] if len(base.items) == 1 else None
    alike = frozenset(range(len(only.items))) if isinstance(only, Sequence) else frozenset()
    return Sequence(base.kind, list(base.items), True, site, alike=alike)


def folded(op: str, left: object, right: object) -> Value:
    """Small integer arithmetic, so that `2 * 4` replicas are eight, and joined strings."""
    if isinstance(left, str) and isinstance(right, str) and op == "Add":
        if len(left) + len(right) <= MAX_TEXT_LENGTH:
            return Const(left + right)
        return Text(left[:MAX_TEXT_LENGTH], right[-MAX_TEXT_LENGTH:])
    if isinstance(left, str) and op == "Modulo":
        return _formatted(left)
    if type(left) is int and type(right) is int and abs(left) < 1 << 31 and abs(right) < 1 << 31:
        if op in FOLDED:
            return Const(FOLDED[op](left, right))
        if op == "FloorDivide" and right:
            return Const(left // right)
        if op == "Power" and 0 <= right <= MAX_EXPONENT and abs(left) <= MAX_BASE:
            return Const(left**right)
    are_numbers = all(isinstance(side, (bool, int, float)) for side in (left, right))
    return values.Number() if are_numbers and op in ARITHMETIC else UNKNOWN


def _scaled(op: str, left: Value, right: Value) -> Value | None:
    """Return the product or quotient of whole numbers; None where something else may be meant."""
    if op not in ("Multiply", "FloorDivide", "Divide"):
        return None
    if op != "FloorDivide" and UNKNOWN in (left, right):
        return None  # it may be a tensor
    sides = [_factor(left), _factor(right)]
    if None in sides:
        return None
    (number, power), (other, other_power) = filter(None, sides)
    if op == "Multiply":
        number = None if number is None or other is None else number * other
        power += other_power
    else:
        # What is left over is not seen unless it is divided by one.
        number = number if other == 1 else None
        power -= other_power
    if power == 0:
        return UNKNOWN if number is None else Const(number)
    unit = next(side.unit for side in (left, right) if isinstance(side, values.Scaled))
    return values.Scaled(unit, number, power) if abs(power) == 1 else UNKNOWN


def _factor(value: Value) -> tuple[int | None, int] | None:
    """Return a number, if it is seen, and the power of the unit; None if it may be no number."""
    if isinstance(value, values.Scaled):
        return value.number, value.power
    if isinstance(value, Const):
        return (value.value, 0) if type(value.value) is int else None
    return (None, 0) if value is UNKNOWN or isinstance(value, (Opaque, External)) else None


def subscript(frame: Frame, base: Value, index: Value, site: Site) -> Value:
    if isinstance(base, values.Choice):
        return base.each(subscript(frame, option, index, site) for option in base.options)
    fields = dataclass_fields.items(base)
    if fields is not None:
        base = Sequence("tuple", fields)
    if isinstance(base, Sequence):
        if isinstance(index, Const) and isinstance(index.value, int) and not base.open:
            is_inside = -len(base.items) <= index.value < len(base.items)
            return base.items[index.value] if is_inside else UNKNOWN
        return join(base.items)
    if isinstance(base, Mapping):
        fill(frame, base, index)
        return item_of(base, index, frame.library.is_in_program(frame.context))
    if isinstance(base, Tensor):
        if base.of_all is not None and base.sort == "tensor":
            if base.single or base.shape is not None:
                transfer.note_operands(frame, [base], (site,), transfer.SUBSCRIPT)
            return UNKNOWN  # what holds a tensor of each replica has no items: this is a structure
        if base.sort == "structure":
            transfer.note_operands(frame, [base], (site,), transfer.SUBSCRIPT)
            frame.count_possible_operation()
            return replace(base, sort="tensor", shape=None)
        return operation(frame, [base, index], site, "getitem")
    if isinstance(base, Variable):
        return operation(frame, [base, index], site, "getitem")
    if isinstance(base, Opaque):
        frame.count_possible_operation()
        if not isinstance(index, Const):
            return UNKNOWN
        return base.child(f"[{index.value!r}]", f"{base.path}[{index.value!r}]")
    if isinstance(base, ExternalObject) and base.callee is not None and isinstance(index, Const):
        return base.item(index)
    if isinstance(base, values.Bound):
        return frame.library.item(frame, base, site)
    if isinstance(base, External) and base.path == ENVIRONMENT and isinstance(index, Const):
        return frame.session.flag(f"{base.path}[{index.value!r}]")
    frame.count_possible_operation()
    return UNKNOWN


def items_of(value: Value) -> list[Value] | None:
    """Return the items that iteration gives, where all are known."""
    if isinstance(value, Sequence) and not value.open:
        return list(value.items)
    if isinstance(value, Mapping) and not value.open:
        return [Const(key) for key in value.items]
    return None


def element_of(frame: Frame, value: Value, site: Site) -> Value:
    """Return one item of a loop over `value`; one over an object is recorded as a call of `for`."""
    if frame.recorded is not None and isinstance(value, ExternalObject):
        argument = Argument(None, "", value, site)
        frame.recorded.calls.append(ApiCall(FOR, site, frame.context, (argument,)))
    return next_of(frame, value, site)


def next_of(frame: Frame, value: Value, site: Site) -> Value:
    """Return one item of an iteration over `value`."""
    if isinstance(value, values.Choice):
        # Where it may be a list, too, a test may have sent all that is no list elsewhere.
        are_tensors = all(isinstance(option, Tensor) for option in value.options)
        return join(
            replace(option, shape=None)
            if isinstance(option, Tensor) and not are_tensors
            else next_of(frame, option, site)
            for option in value.options
        )
    if isinstance(value, Sequence):
        return join(value.items)
    if isinstance(value, Mapping):
        keys = [Const(key) for key in value.items if not isinstance(key, tuple)]
        return join(keys) if keys and not value.open else UNKNOWN
    frame.count_possible_operation()
    if isinstance(value, Tensor):
        transfer.note_operands(frame, [value], (site,), transfer.ITERATION)
        return replace(value, shape=None)
    if isinstance(value, ExternalObject):
        return value.element or frame.library.element(value)
    return _element_of_object(frame, value, site) if isinstance(value, Instance) else UNKNOWN


def _element_of_object(frame: Frame, value: Instance, site: Site) -> Value:
    """Return what `__iter__` of a class of the project gives, or its `__next__`."""
    for name in ("__iter__", "__next__"):
        method = attributes.get(frame, value, name, site)
        if objects.function_of(method) is None:
            return UNKNOWN
        result = calls.call(frame, method, (), site)
        if result is not value:
            return result if name == "__next__" else next_of(frame, result, site)
    return UNKNOWN


def unpack(frame: Frame, value: Value, count: int, site: Site) -> list[Value]:
    """Return the values that `a, b = value` binds."""
    if isinstance(value, values.Choice):
        rows = [unpack(frame, option, count, site) for option in value.options]
        return [value.each(row[n] for row in rows) for n in range(count)]
    fields = dataclass_fields.items(value)
    if fields is not None and len(fields) == count:
        return fields
    if isinstance(value, Sequence):
        if not value.open and len(value.items) == count:
            return list(value.items)
        return [join(value.items) if value.open else UNKNOWN] * count
    if isinstance(value, Tensor):
        frame.count_possible_operation()
        transfer.note_operands(frame, [value], (site,), transfer.ITERATION)
        sort = "unseen" if value.sort == "unseen" else "tensor"
        return [replace(value, sort=sort, shape=None) for _ in range(count)]
    if isinstance(value, Opaque):
        return [value.child(f"[{n}]", f"{value.path}[{n}]") for n in range(count)]
    if isinstance(value, ExternalObject) and value.last == "get_next":
        return [value] * count  # the components of one element come the same way
    if isinstance(value, ExternalObject) and value.callee is not None:
        return [value.item(Const(n)) for n in range(count)]
    return [UNKNOWN] * count
