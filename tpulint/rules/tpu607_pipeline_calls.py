"""Calls of an input pipeline that the host of a remote TPU cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Variable
from tpulint.analysis.domain.objects import ExternalObject, Sequence
from tpulint.analysis.domain.program import Feed, Program
from tpulint.analysis.domain.structures import is_dataset, start_of
from tpulint.analysis.domain.values import Strategy, Value
from tpulint.knowledge import folders, seam
from tpulint.queries.input_pipelines import calls_of, data_of, sources, steps

PYTHON = "runs Python on this machine"
TABLE = "uses a table of this machine"
FILE = "reads a file of this machine"
GENERATOR = "ImageDataGenerator"  # tensorflow/python/keras: a loop of Python's


def pipeline_calls(program: Program, feed: Feed) -> Iterator[ApiCall]:
    """Yield the calls that make the pipeline and those inside its functions, each once."""
    sites = dict.fromkeys(step.site for step in steps(data_of(program, feed)))
    found = list(calls_of(program, feed))
    for site in sites:
        found += program.piped_at.get(site, ())
    found += [call for site in sites for call in program.at.get(site, ())]
    yield from {id(call): call for call in found}.values()


def is_one_of_several(program: Program, feed: Feed, call: ApiCall) -> bool:
    """Return whether the program chooses between this source and others, one of them a TPU's."""
    if not isinstance(feed.owner, Strategy) or call.last not in seam.PYTHON_IN_GRAPH:
        return False
    begun = [each for each in sources(data_of(program, feed)) if isinstance(each, ExternalObject)]
    others = [each for each in begun if each.last not in seam.PYTHON_IN_GRAPH]
    return any(each.site is call.site for each in begun) and any(map(is_dataset, others))


def fault_on_the_host(call: ApiCall, feed: Feed) -> str | None:
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
    if call.last in seam.FILE_READERS and call.arguments and is_local(call.arguments[0].value):
        return FILE
    return None


def _is_table(receiver: Value | None) -> bool:
    return isinstance(receiver, Variable) and receiver.sort == "table"


def is_local(path: Value) -> bool:
    """Return whether a file of this machine is named here, or a list of which one is."""
    if isinstance(path, Sequence):
        return any(is_local(each) for each in path.items)
    starts = start_of(path)
    return starts is not None and folders.is_local(starts)
