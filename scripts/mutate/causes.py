"""The cause of a miss: how far the analysis came on its way to the site."""

from __future__ import annotations

from scripts.mutate.sites import Site
from tpulint.check.request import Request
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.explain.account import explain

NOT_READ = "the file is not read"
NOT_REACHED = "nothing reaches the line"
NOT_DEVICE = "the line is not known to run on the device"
SILENT = "the rule is silent"
FOLLOWED = ("drop remainder", "estimator", "cross shard", "compiled loop")  # host code as well


def cause_at(site: Site, folder: str) -> str:
    """Return why a fault at the site, in the program as it is, would not be named."""
    config = Config(root=folder)
    explanation = explain(Request(config, frozenset(CODES), (site.filename,)), site.row)
    if not explanation.read or explanation.line is None:
        return NOT_READ
    if not explanation.line.contexts:
        return NOT_REACHED
    lanes = {context.lane for context in explanation.line.contexts}
    if "device" not in lanes and site.kind not in FOLLOWED:
        return NOT_DEVICE
    return SILENT
