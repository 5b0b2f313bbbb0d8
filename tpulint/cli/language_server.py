"""`tpulint server`: hands over to the server, which the extra `lsp` installs the protocol for."""

from __future__ import annotations

import importlib.util

from tpulint.config import ConfigError

NEEDED = ("pygls", "lsprotocol")


def serve(port: int | None) -> int:
    """Serve an editor; the answer is the exit status."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"server: {missing[0]} is not installed: python -m pip install 'tpulint[lsp]'"
        )
    from tpulint.server import main

    return main.serve(port)
