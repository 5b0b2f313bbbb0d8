"""A cache that several machines share: a URL of fsspec in the place of a directory."""

from __future__ import annotations


def is_shared(place: str) -> bool:
    """Return whether a cache is a URL, as fsspec understands them, and not a directory."""
    return "://" in place or "::" in place


def missing_package(url: str) -> str | None:
    """Return what is wrong with a URL before anything is asked of it; None if nothing is."""
    try:
        from fsspec import get_filesystem_class
        from fsspec.core import split_protocol
    except ImportError:
        return f"{url!r} needs fsspec: pip install 'tpulint[shared-cache]'"
    for link in url.split("::"):
        try:
            get_filesystem_class(split_protocol(link)[0] or link)
        except (ImportError, ValueError) as error:
            return f"{url!r}: {error}"
    return None
