"""What the Python tests on the way to a place ask for, by the words in their expressions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import NamedTuple

from tpulint.absint.domain.context import NAME, NO_KNOWN_CALLER, VALUE, BaseContext, ConditionKey
from tpulint.absint.domain.site import Module
from tpulint.absint.domain.values import NONE, Const, External, Opaque, Value
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.naming import NamePattern
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.syntax import nodes

NEGATIVE = frozenset(["NotEqual", "IsNot", "NotIn"])
NO_TPU = (Const(False), NONE)  # what `use_tpu` of an Estimator is where no TPU is used
NOTHING = (None, 0, False)  # what is compared with one of these is asked to be absent


class Word(NamedTuple):
    """A dotted name or a quoted string constant in a test.

    is_affirmed: the test asks that it holds. In `not use_gpu` it asks that it does not.
    """

    name: str
    is_affirmed: bool


def words(test: nodes.Node, is_affirmed: bool = True) -> Iterator[Word]:
    """Yield the words of a test in source order."""
    path = nodes.dotted_path(test)
    if path:
        yield Word(path, is_affirmed)
        return
    match test:
        case nodes.Constant(value=str() as text):
            yield Word(repr(text), is_affirmed)
        case nodes.Not(operand=operand):
            yield from words(operand, not is_affirmed)
        case nodes.Compare(comparisons=comparisons):
            is_denied = any(map(_denies, comparisons))
            for part in nodes.parts(test):
                yield from words(part, is_affirmed is not is_denied)
        case nodes.Attribute(base=base, name=name):
            yield from words(base, is_affirmed)
            yield Word(name, is_affirmed)
        case nodes.CallArgument(keyword=str() as keyword, value=value):
            yield Word(keyword, is_affirmed)
            yield from words(value, is_affirmed)
        case _:
            for part in nodes.parts(test):
                yield from words(part, is_affirmed)


def _denies(comparison: nodes.Comparison) -> bool:
    """Return whether a comparison asks that its left side is absent or another one."""
    right = comparison.right
    is_with_nothing = isinstance(right, nodes.Constant) and any(
        right.value is nothing for nothing in NOTHING
    )
    if comparison.op in NEGATIVE:
        return not is_with_nothing
    if comparison.op == "LessThan":
        return isinstance(right, nodes.Constant) and right.value == 1
    return is_with_nothing and comparison.op in ("Equal", "Is", "LessThanEqual")


def asked(context: BaseContext) -> Iterator[tuple[Word, object]]:
    """Yield the words of all tests on the way to `context`, each with the branch taken."""
    for key, branch in context.conditions:
        for word in words_of(key):
            yield word, branch


def words_of(key: ConditionKey) -> Iterator[Word]:
    """Yield the words of one condition; none where it is no test in the source."""
    value = key.answer
    if value is not None:
        # What an unknown value is called in the source, and what it is compared with.
        if value.compared is None or value.parent is None:
            yield Word(value.path, True)
        else:
            is_affirmed = value.compared not in map(repr, NOTHING)
            yield Word(value.parent.path, is_affirmed)
            yield Word(value.compared, is_affirmed)
    elif key.kind == NAME:
        yield Word(str(key.identity), True)
    elif key.test is not None:
        yield from words(key.test)


def texts_compared(key: ConditionKey) -> Iterator[Word]:
    """Yield the quoted texts that a condition compares something with, one or several."""
    if key.answer is not None:
        compared = key.answer.compared
        if compared is not None and compared.startswith("'"):
            yield Word(compared, True)
    elif key.test is not None:
        compares = [node for node in nodes.walk(key.test) if isinstance(node, nodes.Compare)]
        rights = [comparison.right for node in compares for comparison in node.comparisons]
        rows = [right.items if isinstance(right, nodes.Display) else [right] for right in rights]
        constants = [item.value for row in rows for item in row if isinstance(item, nodes.Constant)]
        texts = {repr(text) for text in constants if isinstance(text, str)}
        yield from (word for word in words(key.test) if word.name in texts)


def is_kept_from_tpu(module: Module) -> bool:
    """Return whether each call of TPUEstimator in a module has the literal `use_tpu=False`."""
    calls = [node for node in module.nodes() if isinstance(node, nodes.CallNode)]
    makers = [call for call in calls if nodes.dotted_path(call.callee).endswith("TPUEstimator")]
    flags = [
        any(
            argument.keyword == "use_tpu"
            and isinstance(argument.value, nodes.Constant)
            and argument.value.value is False
            for argument in call.arguments
        )
        for call in makers
    ]
    return bool(flags) and all(flags)


def asks_about(context: BaseContext, pattern: NamePattern) -> bool:
    """Return whether a test on the way to `context` has a word like this, whatever it answers."""
    return any(pattern.is_in(word.name) for word, _ in asked(context))


def is_for(context: BaseContext, pattern: NamePattern) -> bool:
    """Return whether a test on the way to `context` asks for such a word, and finds it."""
    words_asked = asked(context)
    return any(
        pattern.is_in(word.name) and branch is word.is_affirmed for word, branch in words_asked
    )


def is_for_gpu(context: BaseContext) -> bool:
    """Return whether the way to `context` is a GPU's, by a test or a function that is named so."""
    return _is_named_for_gpu(context) or is_for(context, naming.GPU)


def _is_named_for_gpu(context: BaseContext) -> bool:
    names = (call.name for call in context.call_chain)
    return any(naming.GPU.is_in(name) and not naming.TPU.is_in(name) for name in names)


def answer_on_tpu(test: nodes.Node) -> bool | None:
    """Return what a test gives where a TPU is used; None where it asks something else.

    While a TPU computation is built, the other branch of `if use_tpu:` is no device code, and
    neither is that of `if use_gpu:`.
    """
    match test:
        case nodes.Not(operand=operand):
            answer = answer_on_tpu(operand)
            return None if answer is None else not answer
        case nodes.BoolOperation(op=op, items=items):
            answers, settling = [answer_on_tpu(item) for item in items], op == "or"
            if settling in answers:  # one no settles `and`, one yes settles `or`
                return settling
            return None if None in answers else not settling
        case nodes.Compare(left=left, comparisons=comparisons):
            return _answer_of_comparison(left, comparisons)
    return _answer_of_flag(_flag_name(test))


@lru_cache(maxsize=1024)
def _answer_of_flag(name: str) -> bool | None:
    if naming.GPU_FLAG.is_whole(name):
        return False
    return True if naming.TPU_FLAG.is_whole(name) else None


def _answer_of_comparison(
    left: nodes.Expression, comparisons: list[nodes.Comparison]
) -> bool | None:
    """Answer `params["strategy"] == "tpu"` and `tpu_name is not None`."""
    match comparisons:
        case [nodes.Comparison(op="IsNot" | "Is" as op, right=nodes.Constant(value=None))]:
            return op == "IsNot" if naming.TPU_NAME.is_whole(_flag_name(left)) else None
        case [nodes.Comparison(op="Equal", right=nodes.Constant(value="tpu"))]:
            return True
        case [nodes.Comparison(op="NotEqual", right=nodes.Constant(value="tpu"))]:
            return False
        case [nodes.Comparison(op=op, right=nodes.Constant(value=bool() as value))]:
            answer = answer_on_tpu(left)
            return None if answer is None else (answer is value) is (op in ("Equal", "Is"))
    return None


def _flag_name(node: nodes.Node) -> str:
    """Return the last name of `use_tpu`, `FLAGS.use_tpu`, `params.get("use_tpu")` and the like."""
    match node:
        case nodes.Subscript(index=nodes.Constant(value=str() as text)):
            return text
        case nodes.CallNode(callee=callee, arguments=arguments):
            if _flag_name(callee) != "get" or not arguments:
                return _flag_name(callee)
            key = arguments[0].value
            value = key.value if isinstance(key, nodes.Constant) else None
            return value if isinstance(value, str) else ""
    return nodes.last_name(node) if isinstance(node, nodes.Expression) else ""


def leaves_tpu(context: BaseContext) -> bool:
    """Return whether a test on the way to `context` is answered otherwise on a TPU."""
    return any(_on_tpu(key) is (not branch) for key, branch in context.conditions)


def _on_tpu(key: ConditionKey) -> bool | None:
    """Return what a condition gives on a TPU; None where its words ask for something else."""
    if key.answer is None and key.kind != NAME:
        return answer_on_tpu(key.test) if key.test is not None else None
    name = str(key.identity) if key.answer is None else key.answer.path
    is_tpu = key.answer is not None and key.answer.compared == repr("tpu")
    return is_tpu or naming.TPU_FLAG.is_whole(name.rpartition(".")[2]) or None


def is_without_tpu(context: BaseContext, use_tpu: Value | None) -> bool:
    """Return whether a test on the way to `context` is one for no TPU.

    use_tpu: what the Estimator gets that is used there; a test of that asks the same.
    """
    denied = (VALUE, id(use_tpu), False)
    return leaves_tpu(context) or any(
        (key.kind, key.identity, branch) == denied for key, branch in context.conditions
    )


def is_refused_on_tpu(context: BaseContext, test: Value) -> bool:
    """Return whether no run that reaches `context` has the flag `test` and a TPU.

    `if export and use_tpu: raise ...` keeps the two apart.
    """
    if not isinstance(test, (Opaque, External)):
        return False
    for key, branch in context.conditions:
        if branch is False and isinstance(key.test, nodes.BoolOperation) and key.test.op == "and":
            others = [item for item in key.test.items if answer_on_tpu(item) is not True]
            if len(others) == 1 < len(key.test.items):
                name = nodes.dotted_path(others[0])
                if name and f".{test.path}".endswith(f".{name}"):
                    return True
    return False


def is_of_setting(key: ConditionKey, but: NamePattern) -> bool:
    """Return whether this is a test of what the user sets, without such words."""
    is_set = key.kind == NAME or (isinstance(key.answer, Opaque) and key.answer.is_setting)
    return is_set and not any(but.is_in(word.name) for word in words_of(key))


def may_be_without_tpu(context: BaseContext) -> bool:
    """Return whether a test on the way denies a word that names a TPU, or finds one for GPUs."""
    return is_for(context, naming.GPU) or any(
        naming.TPU.is_in(word.name) and branch is not word.is_affirmed
        for word, branch in asked(context)
    )


def is_for_another(context: BaseContext, strategy: Strategy) -> bool:
    """Return whether the tests on the way to `context` leave the TPU's strategy aside, or may."""
    if leaves_tpu(context):
        return True
    for key, branch in context.conditions:
        match list(words_of(key)):
            # A test for a strategy, such as `if strategy:`, is answered that none is.
            case [Word(name, is_affirmed)] if naming.STRATEGY.is_in(name.rpartition(".")[2]):
                if branch is not is_affirmed:
                    return True
    if strategy.made is None:
        return is_for_gpu(context)
    used = (VALUE, id(strategy.used), False)
    if any((key.kind, key.identity, branch) == used for key, branch in context.conditions):
        return True
    is_called = all(scope.kind != NO_KNOWN_CALLER for scope in context.scopes)
    # Where each run that makes the strategy gets here, a function's name says nothing.
    return (
        strategy.made.excludes(context)
        or (
            _is_named_for_gpu(context)
            and not (is_called and context.reached_whenever(strategy.made))
        )
        or is_for(context, naming.GPU)
        or are_answered_differently(strategy.made, context)
    )


def are_answered_differently(left: BaseContext, right: BaseContext) -> bool:
    """Return whether tests that read alike are answered differently on the way to both.

    They are no single condition, for they are at two places; but their author means the same.
    """
    answers = dict(_spellings(left))
    return any(answers.get(test, branch) is not branch for test, branch in _spellings(right))


def _spellings(context: BaseContext) -> Iterator[tuple[Hashable, object]]:
    """Yield the tests on the way as they are written, without `not`, with the answers to that."""
    for key, branch in context.conditions:
        if key.answer is not None:
            yield key.answer.path, branch
            asked = key.answer.parent if isinstance(key.answer, Opaque) else None
            if asked is not None and key.answer.compared in ("True", "False"):
                yield _as_written(asked.path), (key.answer.compared == "True") is branch
        elif key.kind == NAME:
            yield _as_written(str(key.identity)), branch
        elif key.test is not None:
            yield from _spellings_of(key.test, branch)


def _as_written(flag: str) -> str:
    """Return a flag as it is most often written: `FLAGS.export`."""
    return ".".join(flag.split(".")[-2:])


def _spellings_of(test: nodes.Node, branch: object) -> Iterator[tuple[Hashable, object]]:
    """Yield a test as it is written, and the parts of it that all have the same answer."""
    while isinstance(test, nodes.Not):
        test, branch = test.operand, not branch
    yield _without_places(test), branch
    if isinstance(test, nodes.BoolOperation) and branch is (test.op == "and"):
        for item in test.items:
            yield from _spellings_of(item, branch)


def _without_places(node: nodes.Node | list[nodes.Node] | nodes.Literal) -> Hashable:
    """Return what a node says, wherever it is written: a path, or a class with its fields."""
    if isinstance(node, nodes.Node):
        fields = (getattr(node, name) for name in node.__slots__ if name != "place")
        return nodes.dotted_path(node) or (type(node).__name__, *map(_without_places, fields))
    return tuple(map(_without_places, node)) if isinstance(node, list) else node
