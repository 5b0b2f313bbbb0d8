"""The values of configuration keys: each reader checks one kind, and names what is wrong."""

from __future__ import annotations

import re

from tpulint.codes import CODES, NAMES, SHAPE, codes_of
from tpulint.finding import Certainty
from tpulint.installation import install

TARGET = re.compile(r"1\.15|2\.x|2\.\d+")


class ConfigError(Exception):
    """A configuration that cannot be used; the text says where and what is right."""


def codes(value: object) -> tuple[str, ...]:
    """Codes or beginnings of codes, in capitals; names become the codes that they name."""
    return tuple(selector(word.strip()) for word in strings(value))


def selector(word: str) -> str:
    """Read one code, beginning of codes, rule's name or ALL. Raises ConfigError for others."""
    if not codes_of(word):
        if re.fullmatch(SHAPE, word.upper()) and word[:3].upper() not in {x[:3] for x in CODES}:
            raise ConfigError(f"unknown code '{word}'; no loaded plug-in has it")
        candidates = list(CODES) if word[:3].upper() == "TPU" else [*CODES, *NAMES]
        near = nearest(word.upper(), candidates) or nearest(word.lower(), list(NAMES))
        raise ConfigError(f"unknown code '{word}'{near or '; `tpulint rule` lists the codes'}")
    return NAMES.get(word.lower(), word.upper())


def strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise ConfigError("must be a list of strings")
    return tuple(value)


def per_file(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ConfigError("must be a table of patterns and lists of codes")
    return tuple((pattern, codes(listed)) for pattern, listed in value.items())


def certainty(value: object) -> Certainty:
    names = [level.value for level in Certainty]
    if value not in names:
        raise ConfigError(f"'{value}' is not one of {', '.join(names)}{nearest(str(value), names)}")
    return Certainty(value)


def target(value: object) -> str:
    """Return a TensorFlow version: "1.15", or "2.x" with a number or the letter for x."""
    if not isinstance(value, str) or not TARGET.fullmatch(value):
        raise ConfigError(f'\'{value}\' is not a TensorFlow version: write "1.15" or "2.16"')
    return value


def string(value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError("must be a string")
    return value


def directory_or_url(value: object) -> str:
    """Return a directory, or a URL of a file system that can be used here."""
    place = string(value)
    if is_shared(place) and (fault := missing_package(place)):
        raise ConfigError(fault)
    return place


def boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError("must be true or false")
    return value


def count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError("must be a whole number from 1")
    return value


def nearest(word: str, candidates: list[str], least: float = 0.5) -> str:
    """Return `; did you mean 'x'?`, or nothing where nothing is near."""
    import difflib

    near = difflib.get_close_matches(word, candidates, 1, least)
    return f"; did you mean '{near[0]}'?" if near else ""


# A cache that several machines share: a URL of fsspec in the place of a directory.


def is_shared(place: str) -> bool:
    """Return whether a cache is a URL, as fsspec understands them, and not a directory."""
    return "://" in place or "::" in place


def missing_package(url: str) -> str | None:
    """Return what is wrong with a URL before anything is asked of it; None if nothing is."""
    try:
        from fsspec import get_filesystem_class
        from fsspec.core import split_protocol
    except ImportError:
        return f"{url!r} needs fsspec: {install('shared-cache')}"
    for link in url.split("::"):
        try:
            get_filesystem_class(split_protocol(link)[0] or link)
        except (ImportError, ValueError) as error:
            return f"{url!r}: {error}"
    return None
