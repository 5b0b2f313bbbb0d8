"""Branches, loops and handlers: what is read under a condition, and what holds after it."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.absint.domain import context
from tpulint.absint.domain.context import ConditionKey, Scope
from tpulint.absint.domain.events import Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, TraceTimeValue
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, Opaque, Value, join
from tpulint.absint.interpreter import expressions, operators, transfer
from tpulint.absint.interpreter.expressions import condition_key, truth, value
from tpulint.absint.interpreter.frame import Entered, Frame
from tpulint.ordering import reachable
from tpulint.syntax import nodes

Names = dict[str, Value]
# Errors of Python that do not tell of a fault in the program.
OUTER_ERRORS = frozenset(["KeyboardInterrupt", "StopIteration", "GeneratorExit"])


def if_(frame: Frame, node: nodes.If) -> bool:
    question = _open_question(frame, node.test) if frame.context.computation else node.test
    test = value(frame, question)
    answer_of_test = truth(test)
    if answer_of_test is not None:
        return _settled(frame, node, answer_of_test)
    computation = frame.context.computation
    if computation is not None:
        if isinstance(test, Opaque) and isinstance(test.default, Const) and test.default != NONE:
            # Nothing says that the arguments that are not seen switch an option of device code.
            return _settled(frame, node, bool(test.default.value))
        answer = frame.library.device_answer(question)
        if answer is None and frame.library.is_host_only(computation, test):
            answer = False
        if answer is not None:
            return frame.block(node.body if answer else node.orelse)
    site = frame.site(node.place)
    if isinstance(test, TraceTimeValue):
        transfer.note_effect(frame, "decides", test.path, site, test.site)
    transfer.note_tensor_test(frame, test, question, "if")
    if isinstance(test, Tensor) and frame.context.converts_control_flow:
        return _traced_if(frame, node, test)
    key = condition_key(frame.library, test, question, site)
    if computation is not None:
        answer = frame.library.answer_of_run(computation, key)
        if answer is not None:
            return frame.block(node.body if answer else node.orelse)
    start, before = dict(frame.env.names), frame.exit_count
    with _branch(frame, key, test, True) as then_side:
        ended = frame.block(node.body)
    fails = frame.exit_count == before
    then_names, frame.env.names = frame.env.names, start
    with _branch(frame, key, test, False) as else_side:
        else_ended = frame.block(node.orelse)
    if ended:  # the rest of the block is the else side's, under its condition
        end = else_side.end
        frame.resume(_unless_it_fails(frame, end, key, False) if fails else end)
        return else_ended
    if else_ended:
        frame.env.names = then_names
        fails, end = frame.exit_count == before, then_side.end
        frame.resume(_unless_it_fails(frame, end, key, True) if fails else end)
        return False
    frame.env.names = _joined(then_names, frame.env.names)
    return False


def _open_question(frame: Frame, test: nodes.Expression) -> nodes.Expression:
    """Return what is left of a test when what the device answers is left out.

    `on_device and mode == EVAL` asks for the mode alone.
    """
    match test:
        case nodes.Not(operand=operand):
            rest = _open_question(frame, operand)
            return test if rest is operand else nodes.Not(rest)
        case nodes.BoolOperation(op=op, items=items):
            settled = op == "and"
            rows = [item for item in items if frame.library.device_answer(item) is not settled]
            if len(rows) == len(items) or not rows:
                return test
            return rows[0] if len(rows) == 1 else nodes.BoolOperation(op, rows)
    return test


def _branch(frame: Frame, key: ConditionKey, test: Value, branch: bool) -> Entered:
    """Enter a branch of a test, which may depend on a guess."""
    inside, computation = frame.context.when(key, branch), frame.context.computation
    if computation is not None:
        guess = frame.library.guess_of_branch(computation, key, test, branch)
        asked = test.negates or test if isinstance(test, Opaque) else None
        if asked is not None and asked.default == NONE and branch is (asked is test):
            # Only an argument that is not seen leads here.
            guess = ConditionKey(context.ALTERNATIVE, key.identity)
        if guess is not None:
            inside = inside.when(guess, 0)
    return frame.at(inside)


def _unless_it_fails(frame: Frame, end: Context, key: ConditionKey, branch: bool) -> Context:
    """Return the end of a branch where the other one ends in an error that nothing catches."""
    if frame.context.is_tried:
        return end
    tested = frame.context.when(key, branch).conditions - frame.context.conditions
    return end._replace(assumed=end.assumed | tested)


def _settled(frame: Frame, node: nodes.If, answer: bool) -> bool:
    """Read an `if` whose test is known here; what it makes the first time it makes once."""
    body = node.body if answer else node.orelse
    if not nodes.guards_creation(node.test, answer):
        return frame.block(body)
    once = Scope(context.ONCE, frame.site(node.place))
    if not answer and node.body and isinstance(node.body[-1], (nodes.Return, nodes.Raise)):
        frame.open(once)  # the rest of the function, too, is reached the first time only
        return frame.block(body)
    with frame.scopes_closed():
        frame.open(once)
        return frame.block(body)


def _traced_if(frame: Frame, node: nodes.If, test: Tensor) -> bool:
    """Read `if tensor:` in code that is converted: a conditional, by the names set."""
    site = frame.site(node.place)
    start, returned = dict(frame.env.names), len(frame.returns)
    transfer.touch(frame, [test], site, "predicate")
    sides, ends = [], []
    for block in (node.body, node.orelse):
        frame.env.names = dict(start)
        with frame.within(Scope(context.COND, site, test, converted=True)):
            ends.append(frame.block(block))
            match block:
                # Each branch is traced whatever the test is, and so is the `raise` at its end.
                case [*_, nodes.Raise(items=[error, *_])] if transfer.is_data(test):
                    failed = frame.site(nodes.first_place(error))
                    transfer.note_effect(frame, transfer.FAILS, "raise", failed)
        sides.append(frame.env.names)
    frame.env.names = _through(frame, start, _joined(*sides), test, site)
    if len(frame.returns) > returned:
        frame.open(Scope(context.WITH, site, test, effect=context.AFTER_RETURN))
    return all(ends)


def _through(frame: Frame, start: Names, names: Names, test: Value, site: Site) -> Names:
    """Turn names that traced control flow changed into its outputs."""
    return {
        name: item if start.get(name) is item else transfer.leave_control(frame, item, [test], site)
        for name, item in names.items()
    }


def _joined(left: Names, right: Names) -> Names:
    if left == right:
        return left
    names = dict(right)
    for name, item in left.items():
        other = names.get(name)
        names[name] = item if other is None or other is item else join([item, other])
    return names


def for_(frame: Frame, node: nodes.For) -> bool:
    source = value(frame, node.iterated)
    site = frame.site(node.place)
    is_range = isinstance(source, ExternalObject) and "range" in source.path
    traced = frame.context.converts_control_flow and (isinstance(source, Tensor) or is_range)
    kind = context.WHILE if traced else context.LOOP
    transfer.note_iteration(frame, source, site, converts=True)
    item = operators.element_of(frame, source, site)
    items = operators.items_of(source)
    if items is not None and not items:
        return frame.block(node.orelse)
    if items is not None and _is_unrolled(frame, node, items):
        return _rounds(frame, node, items, site)
    start = dict(frame.env.names)
    with frame.within(Scope(kind, site, source, converted=traced)):
        frame.assign(node.target, item)
        _round(frame, node.body)
        if traced:
            transfer.note_carried(frame, start.values(), map(frame.env.names.get, start))
    if items is None:
        frame.env.names = _joined(start, frame.env.names)
    if traced:
        frame.env.names = _through(frame, start, frame.env.names, source, site)
    _else(frame, node.body, node.orelse)
    return False


def _is_unrolled(frame: Frame, node: nodes.For, items: list[Value]) -> bool:
    """Return whether the rounds of a loop are read one by one.

    They are written out, or of functions, which all would be called in a single round, too.
    """
    are_functions = all(item.is_callee for item in items)
    if not (isinstance(node.iterated, nodes.Display) or are_functions) or _jumps(node.body):
        return False
    has_few_items = len(items) <= expressions.MAX_UNROLLED_ITEMS
    outer_rounds = len(frame.context.scopes.rounds)
    return has_few_items and outer_rounds < expressions.MAX_NESTED_UNROLLED_LOOPS


def _rounds(frame: Frame, node: nodes.For, items: list[Value], site: Site) -> bool:
    """Read a loop once for each item: what a round makes is another thing than the next one's.

    What follows a conditional `return` is reached under its condition, in later rounds as well.
    """
    for number, item in enumerate(items):
        with frame.scopes_closed():
            frame.open(Scope(context.ROUND, site, number))
            frame.assign(node.target, item)
            if frame.block(node.body):
                return True
    return frame.block(node.orelse)


def while_(frame: Frame, node: nodes.While) -> bool:
    site = frame.site(node.place)
    start = dict(frame.env.names)
    test = value(frame, node.test)
    if truth(test) is False:
        return frame.block(node.orelse)
    traced = isinstance(test, Tensor) and frame.context.converts_control_flow
    transfer.note_tensor_test(frame, test, node.test, "while")
    kind = context.WHILE if traced else context.LOOP
    with frame.within(Scope(kind, site, test, converted=traced)):
        ended = _round(frame, node.body)
        if traced:
            transfer.note_carried(frame, start.values(), map(frame.env.names.get, start))
    if truth(test) is not True:
        frame.env.names = _joined(start, frame.env.names)
    if traced:
        frame.env.names = _through(frame, start, frame.env.names, test, site)
    _else(frame, node.body, node.orelse)
    return ended and truth(test) is True


def _round(frame: Frame, body: nodes.Block) -> bool:
    """Read one round of a loop, which may be left or cut short at each of its jumps."""
    outer, frame.jumps = frame.jumps, []
    ended = frame.block(body)
    for names in frame.jumps:
        frame.env.names = _joined(frame.env.names, names)
    ended = ended and not frame.jumps
    frame.jumps = outer
    return ended


def _else(frame: Frame, body: nodes.Block, orelse: nodes.Block) -> None:
    """Read the `else` of a loop with this body: what leaves the loop passes it by."""
    if not orelse:
        return
    if not _jumps(body, ("break",)):
        frame.block(orelse)
        return
    start = dict(frame.env.names)
    with frame.when(ConditionKey("else", id(orelse)), True):
        frame.block(orelse)
    frame.env.names = _joined(start, frame.env.names)


def _jumps(body: nodes.Block, kinds: tuple[str, ...] = ("break", "continue")) -> bool:
    """Return whether a loop with this body has such a jump of its own."""
    closed = (nodes.Expression, nodes.For, nodes.While, nodes.Define, nodes.DefineClass)

    def inner(node: nodes.Node) -> Iterable[nodes.Node]:
        return () if isinstance(node, closed) else nodes.parts(node)

    inside: Iterable[nodes.Node] = reachable(body, inner, id)
    return any(isinstance(node, nodes.Jump) and node.kind in kinds for node in inside)


def try_(frame: Frame, node: nodes.Try) -> bool:
    start = frame.context
    unset = dict(frame.env.names)
    with frame.scopes_closed():
        if node.handlers:
            errors = OUTER_ERRORS | frame.library.outer_errors
            others = any(_catches_others(handler.caught, errors) for handler in node.handlers)
            frame.open(Scope(context.TRY, frame.site(-1), effect="" if others else context.OUTER))
        ended = frame.block(node.body)
    ends = []
    names = frame.env.names
    failed = _joined(unset, names)
    for number, handler in enumerate(node.handlers):
        if handler.caught is not None:
            value(frame, handler.caught)
        frame.env.names = dict(failed)
        with frame.at(start.when(ConditionKey("except", id(node)), number)):
            if handler.name is not None:
                frame.store(handler.name, UNKNOWN)
            handler_ended = frame.block(handler.body)
        ends.append(handler_ended)
        if not handler_ended:
            names = _joined(names, frame.env.names)
    frame.env.names = names
    ended = (ended or frame.block(node.orelse)) and all(ends)
    return frame.block(node.final) or ended


def _catches_others(caught: nodes.Expression | None, errors: frozenset[str]) -> bool:
    """Return whether a handler may catch an error that is none of `errors`."""
    if isinstance(caught, nodes.Display):
        return any(_catches_others(item, errors) for item in caught.items)
    return caught is None or nodes.last_name(caught) not in errors


def match_(frame: Frame, node: nodes.Match) -> None:
    value(frame, node.subject)
    start = dict(frame.env.names)
    names = dict(start)
    for number, case in enumerate(node.cases):
        frame.env.names = dict(start)
        with frame.when(ConditionKey("match", id(node)), number):
            if case.guard is not None:
                value(frame, case.guard)
            if not frame.block(case.body):
                names = _joined(names, frame.env.names)
    frame.env.names = names
