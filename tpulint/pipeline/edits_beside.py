"""A check after edits that no program can see finds what the check before them has found.

That is so if no edited file was read for a program, and all that a check asks of the others is as
it was: their signs, among which are their imports.
"""

from __future__ import annotations

from tpulint.analysis.options import Settings
from tpulint.disk import DISK
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.file_signs import FileSigns, signs_in
from tpulint.pipeline.kept_signs import KeptSigns
from tpulint.pipeline.run_cache import RunCache


def recall_beside(runs: RunCache, kept: KeptSigns, settings: Settings) -> Analysis | None:
    """Return the findings before the last edits; None where an edit may have changed them."""
    edited = kept.edited()
    if not edited:
        return None
    known = runs.recall_before({each: stamp for each, (stamp, _) in edited.items()})
    if known is None:
        return None
    seen = all(_shows_the_same(each, signs, settings) for each, (_, signs) in edited.items())
    return known if seen else None


def _shows_the_same(filename: str, before: FileSigns, settings: Settings) -> bool:
    """Return whether an edited file is to a check what it was before.

    A notebook never is: its imports are not among its signs.
    """
    if not filename.endswith(".py"):
        return False
    try:
        return signs_in(DISK.read(filename), settings) == before
    except OSError:
        return False
