"""Replace attributes of TensorFlow, and restore them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replaced(owner: Any, name: str, new: Any) -> Iterator[None]:
    """Give `owner` in the context `new` as its own attribute `name`."""
    own = vars(owner)
    saved = (own[name],) if name in own else ()
    setattr(owner, name, new)
    try:
        yield
    finally:
        if saved:
            setattr(owner, name, saved[0])
        else:
            delattr(owner, name)
