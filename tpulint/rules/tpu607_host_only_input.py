"""TPU607: an input pipeline that the host of a remote TPU cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Variable
from tpulint.analysis.domain.objects import ExternalObject, Sequence
from tpulint.analysis.domain.program import Feed, Program
from tpulint.analysis.domain.structures import start_of
from tpulint.analysis.domain.values import Strategy, Value
from tpulint.diagnostics import traces
from tpulint.finding import HOST_LANE, Certainty
from tpulint.knowledge import folders, seam
from tpulint.queries.estimators import on_tpu, run_config
from tpulint.queries.input_pipelines import calls_of, data_of, steps
from tpulint.rules.base import Report
from tpulint.rules.tpu607_remote_workers import remoteness

PYTHON = "runs Python on this machine"
TABLE = "uses a table of this machine"
FILE = "reads a file of this machine"
GENERATOR = "ImageDataGenerator"  # tensorflow/python/keras: a loop of Python's


def check(program: Program, report: Report) -> None:
    for feed in program.feeds:
        sure = remoteness(feed.owner)
        if sure is None:
            continue
        for call in _calls(program, feed):
            what = _fault(call, feed)
            if what is not None:
                guess = call.context.is_guess
                _say(feed, call, what, Certainty.POSSIBLE if guess else sure, report)
    for call in program.named.get("TPUEstimator", ()):
        if on_tpu(call):
            _check_model_dir(program, call, report)


def _check_model_dir(program: Program, estimator: ApiCall, report: Report) -> None:
    """The host of the TPU writes the checkpoints, too."""
    sure = remoteness(estimator.result)
    given = estimator.argument("model_dir", 1)
    config = run_config(estimator)
    made = program.at.get(config.site, ()) if isinstance(config, ExternalObject) else ()
    for call in made:
        if given is None and call.result is config:
            given = call.argument("model_dir")
    if sure is not None and given is not None and _is_local(given.value):
        report(
            given.site.span,
            "the host of a remote TPU writes the checkpoints, but cannot write to this folder",
            certainty=sure,
        )


def _calls(program: Program, feed: Feed) -> Iterator[ApiCall]:
    """Yield the calls that make the pipeline and those inside its functions, each once."""
    sites = dict.fromkeys(step.site for step in steps(data_of(program, feed)))
    found = list(calls_of(program, feed))
    for site in sites:
        found += program.piped_at.get(site, ())
    found += [call for site in sites for call in program.at.get(site, ())]
    yield from {id(call): call for call in found}.values()


def _fault(call: ApiCall, feed: Feed) -> str | None:
    receiver = call.receiver
    if call.last in seam.PYTHON_IN_GRAPH:
        return PYTHON
    if (
        isinstance(receiver, ExternalObject)
        and receiver.last == GENERATOR
        and call.last[:4] == "flow"
    ):
        return PYTHON
    if isinstance(feed.owner, Strategy) and _is_table(receiver):
        return TABLE
    if call.last in seam.FILE_READERS and call.arguments and _is_local(call.arguments[0].value):
        return FILE
    return None


def _is_table(receiver: Value | None) -> bool:
    return isinstance(receiver, Variable) and receiver.sort == "table"


def _is_local(path: Value) -> bool:
    """Return whether a file of this machine is named here, or a list of which one is."""
    if isinstance(path, Sequence):
        return any(_is_local(each) for each in path.items)
    starts = start_of(path)
    return starts is not None and folders.is_local(starts)


def _say(feed: Feed, call: ApiCall, what: str, sure: Certainty, report: Report) -> None:
    report(
        call.site.span,
        f"`{call.last}` {what}, but the pipeline runs on the TPU's host, another machine",
        certainty=sure,
        trace=(
            traces.step(HOST_LANE, feed.site, "the TPU takes its input from this pipeline"),
            traces.step(HOST_LANE, call.site, what),
        ),
    )
