"""pytest's tests on an emulated TPU.

    pytest --tpulint-emulate 8            all of them, on eight cores
    def test_step(emulated_tpu): ...      one of them; @pytest.mark.emulated_tpu(num_replicas=4)

TensorFlow is imported when one of the two is used, and not before.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tpulint.installation import install

if TYPE_CHECKING:
    import pluggy

REPLICAS = 2
MARKER = (
    "emulated_tpu(num_replicas=2, *, topology=None, hosts=1, storage=None, remote=False): the TPU "
    "of the fixture"
)

_OPEN: pytest.StashKey[ExitStack] = pytest.StashKey()
_IS_OF_THE_SESSION: pytest.StashKey[bool] = pytest.StashKey()


def missing_tensorflow() -> str:
    return f"an emulated TPU needs TensorFlow: {install('runtime')}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --tpulint-emulate and --tpulint-storage."""
    group = parser.getgroup("tpulint")
    text = (
        "the directory of the buckets of tests on an emulated TPU (.tpulint_storage); `cloud` "
        "leaves gs:// alone"
    )
    group.addoption("--tpulint-storage", metavar="DIR", help=text)
    text = "run all tests on an emulated TPU of N cores, or of a topology as 2x2x2"
    group.addoption("--tpulint-emulate", metavar="N", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Report what the tests run on."""
    machine = config.getoption("--tpulint-emulate")
    return f"tpulint: an emulated TPU of {described(machine)}" if machine else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Emulates the TPU before any test module is imported; xdist's workers have one each."""
    config = session.config
    requested = config.getoption("--tpulint-emulate")
    if not requested or config.pluginmanager.has_plugin("dsession"):
        return
    if importlib.util.find_spec("tensorflow") is None:
        raise pytest.UsageError(f"--tpulint-emulate: {missing_tensorflow()}")
    try:
        machine = emulated(config, **machine_of(requested))
        config.stash[_OPEN].enter_context(machine)
    except ValueError as error:
        raise pytest.UsageError(f"--tpulint-emulate: {error}") from None
    config.stash[_IS_OF_THE_SESSION] = True


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take it away again, and then the storage."""
    if _OPEN in config.stash:
        config.stash[_OPEN].close()
        del config.stash[_OPEN]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """Add to the error of a test the finding of `tpulint check` that it is linked to."""
    outcome = yield
    error = call.excinfo.value if call.excinfo is not None else None
    is_emulated = "tpulint.runtime" in sys.modules
    message = message_of(error, str(item.path)) if is_emulated and error is not None else ""
    if message:
        outcome.get_result().sections.append(("tpulint", message))


def message_of(error: BaseException | None, program: str) -> str:
    """Return the finding that a fault or an error is linked to; nothing where there is none."""
    from tpulint.output.context import RenderContext
    from tpulint.run import report
    from tpulint.run.explain import explain
    from tpulint.run.failure import failure_of

    if (failure := failure_of(error)) is None:
        return ""
    links = explain([failure], program)
    context = RenderContext(os.getcwd(), links.sources)
    return "\n\n".join(report.explained(fault, context) for fault in links.faults)


@pytest.fixture(name="emulated_tpu")
def emulated_tpu_fixture(request: pytest.FixtureRequest) -> Iterator[None]:
    """Emulate a TPU of two cores while the test runs, or the one of --tpulint-emulate.

    Another number by the marker `emulated_tpu(num_replicas=4)`, or `(topology="2x2x2")`, or as an
    indirect parameter: `@pytest.mark.parametrize("emulated_tpu", [2, 4, "2x2x2"], indirect=True)`.
    """
    if importlib.util.find_spec("tensorflow") is None:
        pytest.fail(missing_tensorflow(), pytrace=False)
    requested = asked_by(request)
    if requested is None and _IS_OF_THE_SESSION in request.config.stash:
        yield
        return
    with emulated(request.config, **(requested or {"num_replicas": REPLICAS})):
        yield


def asked_by(request: pytest.FixtureRequest) -> dict[str, Any] | None:
    """Return the replicas that the test asks for: its parameter first, then its nearest marker."""
    if hasattr(request, "param"):
        return machine_of(str(request.param))
    if (marker := request.node.get_closest_marker("emulated_tpu")) is None:
        return None
    return {**dict(zip(("num_replicas",), marker.args)), **marker.kwargs}


def machine_of(size: str) -> dict[str, Any]:
    """Return the arguments of `emulated_tpu` for a number of cores, or a topology."""
    return {"num_replicas": int(size)} if size.isdecimal() else {"topology": size}


def described(size: str) -> str:
    if not size.isdecimal():
        return f"topology {size}"
    return "1 core" if size == "1" else f"{size} cores"


def emulated(config: pytest.Config, **machine: Any) -> AbstractContextManager[None]:
    """Emulate a TPU; `gs://` is served from a directory from the first one to the last test."""
    if _OPEN not in config.stash:
        from tpulint.storage.session import serving

        config.stash[_OPEN] = stack = ExitStack()
        stack.enter_context(serving(config.getoption("--tpulint-storage")))
    from tpulint.runtime import emulated_tpu

    return emulated_tpu(**machine)
