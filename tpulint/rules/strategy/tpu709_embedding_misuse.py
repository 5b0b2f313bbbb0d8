"""TPU709: a TPUEmbedding is made, fed or read where TensorFlow refuses it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from tpulint.absint.domain.context import COMPUTATION, COND, FUNCTION, NO_KNOWN_CALLER, WHILE, Scope
from tpulint.absint.domain.events import ApiCall, Computation, Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, TracedCall
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import all_tensors, with_alternatives
from tpulint.absint.domain.values import NONE, Const, External
from tpulint.diagnostics import traces
from tpulint.diagnostics.fixes import in_scope
from tpulint.frontends.tensorflow.knowledge import strategies
from tpulint.frontends.tensorflow.knowledge.strategies import EMBEDDING
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import NEXT, batches_taken_by
from tpulint.queries.strategies import Scopes, is_run
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import Attribute, CallNode, Name, walk


@register
class EmbeddingMisuse(Rule):
    code = "TPU709"
    name = "embedding-misuse"
    severity = Severity.ERROR
    summary = "a TPUEmbedding that is made, fed or read where it cannot be"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        scopes = Scopes(program)
        for call, embedding in uses(program):
            certainty = None if scopes.by_hand else scopes.is_outside(embedding.context, None)
            is_guess = call.context.is_guess
            if certainty is not None:
                report(
                    embedding.site.span,
                    f"the `{EMBEDDING}` is created outside `strategy.scope()`: `{call.last}` works"
                    " only if it was created under a TPUStrategy; create it under the scope",
                    certainty=Certainty.POSSIBLE if is_guess else certainty,
                    trace=(
                        traces.host_step(
                            embedding.site, f"makes the `{EMBEDDING}` outside the scope"
                        ),
                        traces.host_step(call.site, f"calls its `{call.last}`"),
                    ),
                    fix=in_scope(embedding.site),
                )
            # tpu_embedding_v2.py: these are operations of the TPU's cores, so they need a step.
            elif call.context.computation is None:
                # Where nothing calls a function around it, the caller may be a step.
                may_be_in_step = call.context.is_inside(NO_KNOWN_CALLER)
                if call.last in strategies.EMBEDDINGS_ON_CORES and not may_be_in_step:
                    report(
                        call.site.span,
                        f"`{call.last}` of a `{EMBEDDING}` runs on the TPU's cores, but is called"
                        " outside a step: call it in the function given to `run`",
                        certainty=definite_if(not is_guess),
                        trace=(traces.host_step(call.site, f"calls `{call.last}` on the host"),),
                    )
            elif call.last == "enqueue" and call.context.on_device:
                _check_in_step(call.context.computation, call, report)
        _check_only_one(program, report)
        _check_places_of_batches(program, report)
        for call in program.named.get("TableConfig", ()):
            _check_initializer(call, report)


# tensorflow/python/tpu/tpu_embedding_v2.py, `build`: a TPU is configured for one object's tables.
def _check_only_one(program: Program, report: Report) -> None:
    """Report the second embedding of one strategy that is fed, where all runs come to both."""
    if len({call.site for call in program.named.get("initialize_tpu_system", ())}) > 1:
        return  # which forgets the first one
    first: dict[tuple[int, Strategy], tuple[ExternalObject, ApiCall]] = {}
    for call, embedding in uses(program, ("build", "enqueue")):
        strategy = scope_strategy(embedding.context)
        is_forked = embedding.context.forks or call.context.forks
        if strategy is None or strategy.kind != "tpu" or is_forked:
            continue
        key = embedding.context.run, strategy
        earlier, other = first.setdefault(key, (embedding, call))
        if embedding.site != earlier.site:
            report(
                embedding.site.span,
                f"a TPU takes one `{EMBEDDING}`, and this is the second one that is fed: give all"
                " features to one of them",
                certainty=definite_if(not call.context.hides_faults),
                trace=(
                    traces.host_step(earlier.site, f"makes the first `{EMBEDDING}`"),
                    traces.host_step(other.site, f"configures the TPU by `{other.last}`"),
                    traces.host_step(embedding.site, "makes the second one"),
                    traces.host_step(call.site, f"configures the TPU by `{call.last}`"),
                ),
            )


# tensorflow/python/tpu/tpu_embedding_v2.py, `_raise_error_for_inputs_not_on_cpu`
def _check_places_of_batches(program: Program, report: Report) -> None:
    """Report `enqueue` of what the same tf.function takes of a dataset that is sent to the TPU."""
    fed = list(uses(program, ["enqueue"]))
    taken: dict[tuple[Site, Scope], list[ApiCall]] = defaultdict(list)
    for call in program.all_calls() if fed else ():
        batches, traced = batches_taken_by(call), traced_around(call.context)
        if batches is not None and batches[0].site is not None and traced is not None:
            taken[batches[0].site, traced].append(call)
    reported: set[Site] = set()
    for call, embedding in fed if taken else ():
        step = call.context.computation
        traced = traced_around(call.context if step is None else step.context)
        if call.site in reported or traced is None or scope_strategy(embedding.context) is None:
            continue
        for source in sources_of(call, step):
            takers = taken.get((source.site, traced), [])
            are_captured = all(takes_of_captured(taker, traced) for taker in takers)
            if not takers or not are_captured or not is_sent_to_cores(source):
                continue
            reported.add(call.site)
            report(
                call.site.span,
                f"`enqueue` of a `{EMBEDDING}` reads its batch on the host, but the dataset sends"
                f" its batches to the TPU: pass `{source.last}` the options"
                " `tf.distribute.InputOptions(experimental_fetch_to_device=False)`",
                certainty=definite_if(
                    not call.context.is_guess,
                    not call.context.hides_faults,
                    not source.context.is_guess,
                ),
                trace=(
                    traces.host_step(source.site, "distributes the dataset to the cores"),
                    traces.host_step(takers[0].site, "takes a batch, which is on the TPU"),
                    traces.host_step(call.site, "enqueues it"),
                ),
            )
            break


def traced_around(context: Context) -> Scope | None:
    return next((scope for scope in reversed(context.scopes) if scope.kind == FUNCTION), None)


def sources_of(call: ApiCall, step: Computation | None) -> list[ApiCall]:
    """Return the calls that distributed what `enqueue` is given.

    A step's own arguments are known by those that `run` is given: all of them must be batches.
    """
    tensors = all_tensors([call.value("features", 0) or NONE])
    if step is not None:
        arguments = step.call.value("args", 1)
        are_given = all(tensor.split and not is_made_here(tensor) for tensor in tensors)
        if arguments is None or not is_run(step) or not are_given:
            return []
        tensors = all_tensors([arguments])
    sources = [tensor.of_all for tensor in tensors if tensor.of_all is not None]
    return sources if len(sources) == len(tensors) else []


def is_sent_to_cores(source: ApiCall) -> bool:
    """Return whether a distributed dataset certainly copies its batches to the TPU."""
    options = source.value("options", 1)
    if options is None:
        return not source.is_starred
    if not isinstance(options, ExternalObject) or options.last != "InputOptions":
        return options == NONE
    fetches = options.argument("experimental_fetch_to_device", 0)
    return fetches in (None, NONE, Const(True))


def takes_of_captured(taker: ApiCall, traced: Scope) -> bool:
    """Return whether `next` is given an iterator from outside the tf.function that calls it.

    TensorFlow does not know where the batches of one among its arguments are.
    """
    function = traced.payload.function if isinstance(traced.payload, TracedCall) else None
    iterator = taker.argument("iterator", 0)
    if function is None or iterator is None or taker.path != NEXT:
        return False
    if isinstance(iterator.node, Attribute):
        return True
    own = set(function.code.inside.local_names)
    own.update(parameter.name for parameter in function.code.parameters.named)
    calls = (node for node in walk(*function.code.body) if isinstance(node, CallNode))
    is_its_own = any(node.place == taker.site.place for node in calls)
    return isinstance(iterator.node, Name) and iterator.node.id not in own and is_its_own


# tensorflow/python/tpu/tpu_embedding_base.py: it is called with a shape, as a class is to make one.
def _check_initializer(call: ApiCall, report: Report) -> None:
    initializer = call.argument("initializer", 2)
    if initializer is None or not isinstance(initializer.value, External):
        return
    value = initializer.value
    is_class = ".initializers." in value.path and value.last[:1].isupper()
    if is_tensorflow(value.path) and (is_class or value.last.endswith("_initializer")):
        report(
            initializer.site.span,
            f"`{value.last}` is a class, and a `{EMBEDDING}` calls its initializer with the shape:"
            f" create an object, `{value.last}()`",
            certainty=definite_if(not call.context.is_guess),
            trace=(traces.host_step(call.site, "describes the table"),),
        )


def uses(
    program: Program, names: Collection[str] = strategies.OF_EMBEDDINGS
) -> Iterator[tuple[ApiCall, ExternalObject]]:
    """Yield the calls of these methods of embeddings, each with the object."""
    for call in program.all_named(names):
        embedding = call.receiver
        if isinstance(embedding, ExternalObject):
            home, _, last = embedding.path.rpartition(".")
            if last == EMBEDDING and home.endswith(tuple(strategies.EMBEDDING_MODULES)):
                yield call, embedding


def _check_in_step(computation: Computation, call: ApiCall, report: Report) -> None:
    """Report an `enqueue` in a step that cannot be moved to the host."""
    features = call.value("features", 0)
    handed = {call.site for call in computation.calls if ".nest." in call.path}
    if any(scope.kind in (COND, WHILE, FUNCTION) for scope in call.context.since(COMPUTATION)):
        why = "cannot be lifted out of control flow or of a tf.function in a step"
    elif features is not None and any(
        is_made_here(tensor) and tensor.site not in handed
        for tensor, _ in with_alternatives(features)
    ):
        why = "takes only what the step was given, not what it computes"
    else:
        return
    report(
        call.site.span,
        f"`enqueue` of a `{EMBEDDING}` {why}: call it before `{computation.kind}`",
        certainty=Certainty.POSSIBLE if call.context.is_guess else computation.certainty,
        trace=traces.path_to(computation, call, "calls `enqueue` in the step"),
    )


def is_made_here(tensor: Tensor) -> bool:
    return tensor.made is not None and tensor.made.on_device and tensor.computed
