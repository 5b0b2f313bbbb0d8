"""How an extra of tpulint is installed: from where tpulint itself was installed."""

from __future__ import annotations

import os

PROJECT = "tpulint"


def install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"python -m pip install {requirement(extra)}"


def requirement(extra: str) -> str:
    """Return the argument of pip: a checkout or a commit, where tpulint is from one."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = distribution(PROJECT).read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    if origin is not None:
        return _from_origin(origin, extra)
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.exists(os.path.join(folder, "pyproject.toml")):
        return f"'{folder}[{extra}]'"  # a checkout on the path
    return f"'{PROJECT}[{extra}]'"


def _from_origin(origin: str, extra: str) -> str:
    """Return what to install by the record that pip keeps of an installation (PEP 610)."""
    import json
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    recorded = json.loads(origin)
    url = recorded["url"]
    if "vcs_info" in recorded:
        system, commit = recorded["vcs_info"]["vcs"], recorded["vcs_info"]["commit_id"]
        return f"'{PROJECT}[{extra}] @ {system}+{url}@{commit}'"
    if "dir_info" in recorded:
        editable = "-e " if recorded["dir_info"].get("editable") else ""
        return f"{editable}'{url2pathname(urlsplit(url).path)}[{extra}]'"
    return f"'{PROJECT}[{extra}] @ {url}'"
