"""The signs in the bytes of one file, from which a prefilter says what it is to a check.

They depend on these bytes and on the configuration alone, so that they can be kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from tpulint.analysis.estimator_homes import names_estimators
from tpulint.analysis.names.api_names import missing_somewhere
from tpulint.analysis.names.spelling_search import NamesInFile
from tpulint.analysis.names.target_release import keeps_keras_2
from tpulint.analysis.options import Settings
from tpulint.analysis.resolver.imports import Written, statements
from tpulint.analysis.soft_placement import SIGN, is_script, placement_in
from tpulint.diagnostics.suppress import may_name_own_codes
from tpulint.frontends.tensorflow.prefilter import names_a_tpu, passes


class FileSigns(NamedTuple):
    """The signs in one file.

    imports: the hash of its import statements, "" where it has none. seam: it shows the seam.
    estimators: it does, and names a TPUEstimator. marked: it may hold suppressions. script: it is
    run as a program. placement: the certainty with which it turns soft placement on. names: what
    it names of TensorFlow.
    """

    imports: str = ""
    seam: bool = False
    estimators: bool = False
    marked: bool = False
    script: bool = False
    placement: str | None = None
    names: NamesInFile = NamesInFile()


def signs_in(
    data: bytes, settings: Settings, written: Iterable[Written] | None = None
) -> FileSigns:
    """Search the bytes of a file; `written` are its import statements, where they are known."""
    tpus = names_a_tpu(data)
    seam = passes(data, settings.wrappers, tpus)
    missing = tuple(missing_somewhere(data))
    return FileSigns(
        _hash_of_imports(statements(data) if written is None else written),
        seam,
        seam and names_estimators(data),
        may_name_own_codes(data, tpus),
        is_script(data),
        placement_in(data) if SIGN in data else None,
        NamesInFile(missing, bool(missing) and keeps_keras_2(data)),
    )


def _hash_of_imports(written: Iterable[Written]) -> str:
    text = b"\0".join(chain.from_iterable(written))
    return hashlib.sha256(text).hexdigest()[:16] if text else ""
