"""A word on what TensorFlow lacks since 2.16: the Estimator, and TPUEstimator with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from tpulint.cli.run.failure import chain_of

_MODULES = re.compile(r"tensorflow_estimator|tensorflow(\.\w+)*\.estimator")
_NAMES = re.compile(r"(?:no attribute|cannot import name) 'estimator'")
_DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tf-nightly")
LAST = (2, 15)


def missing_estimator(error: BaseException | None, release: str | None = None) -> Iterator[str]:
    """One line on what to install, where `error` is that there is no Estimator.

    `release` is TensorFlow's; of the one that is installed where nothing is said.
    """
    if not any(_is_of_estimator(each) for each in chain_of(error)):
        return
    release = release or _installed()
    if release and tuple(int(number) for number in re.findall(r"\d+", release)[:2]) > LAST:
        yield (
            f"TensorFlow {release} has no Estimator; TensorFlow 2.15 is the last that has it, on "
            "Python 3.11 or older: pip install 'tensorflow-cpu==2.15.*'"
        )


def _is_of_estimator(error: BaseException) -> bool:
    if isinstance(error, ModuleNotFoundError):
        return bool(_MODULES.match(error.name or ""))
    named = isinstance(error, (AttributeError, ImportError))
    return named and bool(_NAMES.search(str(error)))


def _installed() -> str | None:
    """The release of TensorFlow, which no error may keep from being looked up."""
    for name in _DISTRIBUTIONS:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None
