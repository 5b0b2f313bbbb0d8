"""The argument that a parameter gets, and the definition that a name means.

As in test_containers: `faulty` is what must not be called, and the certainty is what is known of
whether it is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.idioms.held import certainty_of

TWO = "def pick(a, b=sound):\n    return b"
FAULT = "def pick(a=None, b=faulty):\n    return b"
ONLY = "def pick(*, b=sound):\n    return b"
REST = "def pick(*fs):\n    return fs[0]"
NAMED = "def pick(**fs):\n    return fs['b']"
FIRST = "def pick(a, /, b=sound):\n    return b"
PARTIAL = "from functools import partial\n" + TWO

# The definitions, the callee, and the certainty that it is `faulty`.
BOUND = {
    "by position": (TWO, "pick(1, faulty)", "definite"),
    "by name": (TWO, "pick(1, b=faulty)", "definite"),
    "all by name": (TWO, "pick(b=faulty, a=1)", "definite"),
    "by default": (TWO, "pick(1)", ""),
    "by a faulty default": (FAULT, "pick(1)", "definite"),
    "instead of a faulty default": (FAULT, "pick(1, sound)", ""),
    "by a known list": (TWO, "pick(*[1, faulty])", "definite"),
    "by a list that is not known": (FAULT, "pick(*sys.argv)", ""),
    "by a list that may hold more": (FAULT, "pick(*[1 for each in sys.argv])", ""),
    "by a known dict": (TWO, "pick(1, **{'b': faulty})", "definite"),
    "by a dict that is not known": (FAULT, "pick(1, **sys.flags)", ""),
    "by a dict that may hold more": (FAULT, "pick(1, **{sys.argv[1]: 1})", ""),
    "by a name only": (ONLY, "pick(b=faulty)", "definite"),
    "by a name only, by default": (ONLY, "pick()", ""),
    "after a position only": (FIRST, "pick(1, faulty)", "definite"),
    "among the rest": (REST, "pick(faulty, sound)", "definite"),
    "not among the rest": (REST, "pick(sound, faulty)", ""),
    "among a rest that may begin with more": (REST, "pick(*sys.argv, faulty)", "possible"),
    "after a list that is not known": (FAULT, "pick(*sys.argv, sound)", ""),
    "after a list that is not known, not by position": (TWO, "pick(*sys.argv, faulty)", ""),
    "by name after a list that is not known": (TWO, "pick(*sys.argv, b=faulty)", "definite"),
    "among the names": (NAMED, "pick(a=sound, b=faulty)", "definite"),
    "not among the names": (NAMED, "pick(a=faulty, b=sound)", ""),
    "by a partial": (PARTIAL, "partial(pick, 1, faulty)()", "definite"),
    "by a name of a partial": (PARTIAL, "partial(pick, b=faulty)(1)", "definite"),
    "instead of a name of a partial": (PARTIAL, "partial(pick, b=faulty)(1, b=sound)", ""),
    "by a partial of a partial": (PARTIAL, "partial(partial(pick, 1), faulty)()", "definite"),
    "by a partial of what is not known": (PARTIAL, "partial(pick, *sys.argv)(1)", ""),
    "a default that was another name then": (
        f"held = faulty\n{TWO.replace('sound', 'held')}\nheld = sound",
        "pick(1)",
        "definite",
    ),
    "a default of a lambda that was another name then": (
        "held = faulty\npick = lambda b=held: b\nheld = sound",
        "pick()",
        "definite",
    ),
    "what is defined last": (f"{FAULT}\n\n{TWO}", "pick(1)", ""),
    "what is defined under a flag": (
        f"{TWO}\nif len(sys.argv) > 1:\n    def pick(a):\n        return faulty",
        "pick(1)",
        "possible",
    ),
    "the result of one of several returns": (
        "def pick(a):\n    if a:\n        return sound\n    return faulty",
        "pick(len(sys.argv))",
        "possible",
    ),
    "the result of the return that is reached": (
        "def pick(a):\n    if a:\n        return sound\n    return faulty",
        "pick(False)",
        "definite",
    ),
    "a function without a return": ("def pick():\n    faulty", "(pick() or faulty)", "definite"),
    "what a function closes over": (
        "def outer(f):\n    def inner():\n        return f\n    return inner",
        "outer(faulty)()",
        "definite",
    ),
    "a name of the outer function that the inner sets": (
        "def outer():\n    f = sound\n    def inner():\n        nonlocal f\n        f = faulty\n"
        "    inner()\n    return f",
        "outer()",
        "definite",
    ),
    "a name that is set in the test": ("if held := faulty:\n    pass", "held", "definite"),
    "what is caught": (
        "held = sound\ntry:\n    input()\n    held = faulty\nexcept ValueError:\n    pass",
        "held",
        "possible",
    ),
    "what is caught, and goes no further": (
        "held = sound\ntry:\n    input()\n    held = faulty\nexcept ValueError:\n    raise",
        "held",
        "definite",
    ),
    "a loop that is left in the middle": (
        "held = sound\nwhile True:\n    if input():\n        break\n    held = faulty",
        "held",
        "possible",
    ),
    "a loop that is left at its end": (
        "held = sound\nwhile True:\n    held = faulty\n    if input():\n        break",
        "held",
        "definite",
    ),
    "a round that is cut short": (
        "held = sound\nfor each in (1, 2):\n    if input():\n        continue\n    held = faulty",
        "held",
        "possible",
    ),
    "a round of an inner loop that is cut short": (
        "held = sound\nfor each in (1, 2):\n    for one in each:\n        break\n    held = faulty",
        "held",
        "definite",
    ),
    "what a loop ends with": ("held = sound\nfor held in (faulty,):\n    pass", "held", "definite"),
    "what a loop that may not begin sets": (
        "held = sound\nwhile input():\n    held = faulty",
        "held",
        "possible",
    ),
    "what one branch sets, where the other fails": (
        "held = sound\nif input():\n    held = faulty\nelse:\n    raise ValueError",
        "held",
        "definite",
    ),
    "what is set for a TPU, on the host": (
        "held = sound\nif sys.use_tpu:\n    held = faulty",
        "held",
        "possible",
    ),
    "a loop that is not left before its end": (
        "held = sound\nfor each in sys.argv:\n    print(each)\nelse:\n    held = faulty",
        "held",
        "definite",
    ),
    "a loop over nothing": ("held = faulty\nfor each in ():\n    held = sound", "held", "definite"),
    "a loop whose else is passed by a return": (
        "def pick():\n    for each in sys.argv:\n        if each:\n            return sound\n"
        "    else:\n        held = faulty\n    return held",
        "pick()",
        "possible",
    ),
    "a loop that never begins": (
        "held = faulty\nwhile False:\n    held = sound",
        "held",
        "definite",
    ),
    "what a handler sets": (
        "held = sound\ntry:\n    import other\nexcept ImportError:\n    held = faulty",
        "held",
        "possible",
    ),
    "what is done at last": (
        "held = sound\ntry:\n    import other\nfinally:\n    held = faulty",
        "held",
        "definite",
    ),
    "what is done where nothing fails": (
        "try:\n    held = sound\nexcept ValueError:\n    raise\nelse:\n    held = faulty",
        "held",
        "definite",
    ),
    "what one case sets": (
        "held = sound\nmatch sys.argv:\n    case []:\n        held = faulty",
        "held",
        "possible",
    ),
    "what the first known operand gives": ("held = None or faulty", "held", "definite"),
    "what the last operand gives": ("held = sound and faulty", "held", "definite"),
    "what an unknown operand may give": ("held = len(sys.argv) and faulty", "held", "possible"),
    "what follows an unknown operand": ("held = len(sys.argv) or faulty", "held", "possible"),
    "the opposite of what is known": ("held = faulty if not None else sound", "held", "definite"),
    "what is equal": ("held = faulty if 'a' == 'a' else sound", "held", "definite"),
    "what is not equal": ("held = faulty if 1 != 2 else sound", "held", "definite"),
    "what is in a dict": ("held = faulty if 'a' in {'a': 1} else sound", "held", "definite"),
    "what is not in a dict": (
        "held = faulty if 'b' not in {'a': 1} else sound",
        "held",
        "definite",
    ),
    "what may be in a dict": (
        "held = faulty if 'b' in {sys.argv[1]: 1} else sound",
        "held",
        "possible",
    ),
    "what is none": ("held = faulty if None is None else sound", "held", "definite"),
    "what is not none": ("held = faulty if sound is not None else sound", "held", "definite"),
    "a comparison of three": (
        "held = faulty if 1 == 1 == len(sys.argv) else sound",
        "held",
        "possible",
    ),
    "a name that a comprehension of a function has too": (
        "held = sound\ndef other():\n    return [held for held in [faulty]]\nother()",
        "held",
        "",
    ),
    "a name that a comprehension of a function has among others": (
        "held = faulty\ndef other():\n    return {n: 1 for n, *held in [(1, sound)]}\nother()",
        "held",
        "definite",
    ),
    "what arithmetic gives": (
        "held = [sound, sound, faulty]",
        "held[2 * 3 - 8 // 2 + 0]",
        "definite",
    ),
}


@pytest.mark.parametrize("name", BOUND)
def test_it_is_as_certain_as_the_callee(name: str, tmp_path: Path) -> None:
    change, called, certainty = BOUND[name]
    assert certainty_of(change, called, tmp_path) == ([certainty] if certainty else [])
