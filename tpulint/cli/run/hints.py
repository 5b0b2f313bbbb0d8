"""A line that says what to do about an error that comes from the installed TensorFlow."""

from __future__ import annotations

import re
import sys

ESTIMATOR = (
    "tpulint: TensorFlow {version} has no Estimator, which left with 2.16. Run this program with "
    "2.15: pip install 'tensorflow==2.15.*' 'tensorflow-estimator==2.15.*'\n"
)
_MISSING = re.compile(
    r"module 'tensorflow.*' has no attribute 'estimator'"
    r"|No module named 'tensorflow_estimator"
    r"|No module named 'tensorflow\.(_api\..*|python\.)?estimator"
    r"|cannot import name 'estimator' from 'tensorflow"
)


def hint_for(error: BaseException) -> str:
    """Return what to install, if `error` is a name that only other releases have; else ""."""
    release = getattr(sys.modules.get("tensorflow"), "__version__", "")
    numbers = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    if numbers < (2, 16) or not isinstance(error, (AttributeError, ImportError)):
        return ""
    return ESTIMATOR.format(version=release) if _MISSING.search(str(error)) else ""
