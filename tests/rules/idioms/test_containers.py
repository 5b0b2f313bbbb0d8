"""The content of names, lists, dicts and attributes that change on some runs only.

Each program calls a function out of something that was changed: `faulty` builds a TPU computation
inside the one that is being built (TPU202), `sound` does not. The certainty is what is known of
which of them is called; none where it is certainly `sound`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.idioms.held import certainty_of

UNDER_A_FLAG = "held = {'f': sound}\nif len(sys.argv) > 1:\n    "
IN_A_LOOP = "\nfor each in sys.argv:\n    "
OBJECT = "class Held:\n    pass\n\nheld = Held()\nheld.f = sound"

# The changes, the callee, and the certainty that it is `faulty`.
CHANGES = {
    "a key is set anew": ("held = {'f': sound}\nheld['f'] = faulty", "held['f']", "definite"),
    "a key is set under a flag": (UNDER_A_FLAG + "held['f'] = faulty", "held['f']", "possible"),
    "a key is updated under a flag": (
        UNDER_A_FLAG + "held.update(f=faulty)",
        "held['f']",
        "possible",
    ),
    "a key is set to one thing or the other": (
        UNDER_A_FLAG.replace("'f': sound", "") + "held['f'] = faulty\nelse:\n    held['f'] = sound",
        "held['f']",
        "possible",
    ),
    "a key is only set under a flag, and must be there": (
        UNDER_A_FLAG + "held['g'] = faulty",
        "held['g']",
        "definite",
    ),
    "a key that may be there, with a default": (
        UNDER_A_FLAG + "held['g'] = faulty",
        "held.get('g', sound)",
        "possible",
    ),
    "a key that may have been there, and is now": (
        UNDER_A_FLAG + "held['g'] = sound\nheld['g'] = faulty",
        "held.get('g', sound)",
        "definite",
    ),
    "a key that is not there is dropped under a flag": (
        UNDER_A_FLAG + "held.pop('g', None)\nchosen = faulty if len(held) == 1 else sound",
        "chosen",
        "definite",
    ),
    "a dict of the same branch": (
        "if sys.argv:\n    held = {'f': sound}\n    held['f'] = faulty",
        "held['f']",
        "definite",
    ),
    "a key is dropped under a flag": (
        UNDER_A_FLAG + "held.pop('f')",
        "held.get('f', faulty)",
        "possible",
    ),
    "a key is deleted under a flag": (
        UNDER_A_FLAG + "del held['f']",
        "held.get('f', faulty)",
        "possible",
    ),
    "a key is dropped for sure": (
        "held = {'f': sound}\nheld.pop('f')",
        "held.get('f', faulty)",
        "definite",
    ),
    "a key that may be gone decides": (
        UNDER_A_FLAG + "del held['f']\nchosen = sound if 'f' in held else faulty",
        "chosen",
        "possible",
    ),
    "a dict is cleared": (
        "held = {'f': faulty}\nheld.clear()",
        "held.get('f', sound)",
        "possible",
    ),
    "a key that is not known may be this one": (
        "held = {'f': faulty}\nheld[sys.argv[1]] = sound",
        "held['f']",
        "possible",
    ),
    "a copy of a dict does not see what is put into the first": (
        "held = {'f': sound}\ncopy = held.copy()\nheld['f'] = faulty",
        "copy['f']",
        "",
    ),
    "a copy of a dict that may lack a key": (
        UNDER_A_FLAG + "held['g'] = faulty\ncopy = held.copy()",
        "copy.get('g', sound)",
        "possible",
    ),
    "a dict within a dict that may lack a key": (
        UNDER_A_FLAG + "held['g'] = faulty\ncopy = {**held}",
        "copy.get('g', sound)",
        "possible",
    ),
    "a dict of a dict that may lack a key": (
        UNDER_A_FLAG + "held['g'] = faulty\ncopy = dict(held)",
        "copy.get('g', sound)",
        "possible",
    ),
    "a list that grows in a loop": (
        f"held = []{IN_A_LOOP}held.append(sound)\nheld.append(faulty)",
        "held[0]",
        "possible",
    ),
    "a list of list() that grows in a loop": (
        f"held = list(){IN_A_LOOP}held.append(sound)\nheld.append(faulty)",
        "held[0]",
        "possible",
    ),
    "a list that is added to in a loop": (
        f"held = []{IN_A_LOOP}held += [sound]\nheld.append(faulty)",
        "held[0]",
        "possible",
    ),
    "a list of a comprehension that grows in a loop": (
        f"held = [each for each in ()]{IN_A_LOOP}held.append(sound)\nheld.append(faulty)",
        "held[0]",
        "possible",
    ),
    "a list that is extended by what is not known": (
        "held = []\nheld.extend([sound for each in sys.argv])\nheld.extend([faulty])",
        "held[0]",
        "possible",
    ),
    "a list that is extended by what is known": (
        "held = [sound]\nheld.extend([faulty])",
        "held[1]",
        "definite",
    ),
    "an item is deleted": ("held = [faulty, sound]\ndel held[0]", "held[0]", "possible"),
    "an item is removed": (
        "held = {faulty, sound}\nheld.discard(faulty)",
        "list(held)[0]",
        "possible",
    ),
    "an item is inserted": ("held = [faulty]\nheld.insert(0, sound)", "held[0]", "possible"),
    "an item is replaced": ("held = [faulty]\nheld[0] = sound", "held[0]", "possible"),
    "a list is turned round": ("held = [faulty, sound]\nheld.reverse()", "held[0]", "possible"),
    "a list that is turned round is another one": (
        "held = list(reversed([faulty, sound]))",
        "held[0]",
        "",
    ),
    "a list is sorted": ("held = [faulty, sound]\nheld.sort(key=str)", "held[0]", "possible"),
    "a list that is sorted is another one": (
        "held = sorted([faulty, sound], key=str)",
        "held[0]",
        "possible",
    ),
    "a sorted list of one": ("held = sorted([faulty], key=str)", "held[0]", "definite"),
    "a part of a list": ("held = [sound, faulty][1:]", "held[0]", "definite"),
    "a part of a list without it": ("held = [sound, faulty][:-1]", "held[0]", ""),
    "a part of a list from where is not known": (
        "held = [sound, faulty][len(sys.argv) :]",
        "held[0]",
        "possible",
    ),
    "an item at the end": ("held = [sound, faulty]", "held[-1]", "definite"),
    "an attribute is set anew": (f"{OBJECT}\nheld.f = faulty", "held.f", "definite"),
    "an attribute is set under a flag": (
        f"{OBJECT}\nif len(sys.argv) > 1:\n    held.f = faulty",
        "held.f",
        "possible",
    ),
    "an attribute is set in a loop": (f"{OBJECT}{IN_A_LOOP}held.f = faulty", "held.f", "possible"),
    "a name is set in a loop": (f"held = sound{IN_A_LOOP}held = faulty", "held", "possible"),
    "a global name is set in a loop of a function": (
        "held = sound\n\ndef choose():\n    global held\n    for each in sys.argv:\n"
        "        held = faulty\n\nchoose()",
        "held",
        "possible",
    ),
    "a global name is set by a function": (
        "held = sound\n\ndef choose():\n    global held\n    held = faulty\n\nchoose()",
        "held",
        "definite",
    ),
    "a loop that may be left before its end": (
        f"held = sound{IN_A_LOOP}if each:\n        break\nelse:\n    held = faulty",
        "held",
        "possible",
    ),
    "a loop in which another loop is left": (
        f"held = sound{IN_A_LOOP}for one in each:\n        break\nelse:\n    held = faulty",
        "held",
        "definite",
    ),
    "a loop with a test that may be left before its end": (
        "held = sound\nwhile input():\n    if input():\n        break\nelse:\n    held = faulty",
        "held",
        "possible",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_it_is_as_certain_as_the_callee(name: str, tmp_path: Path) -> None:
    change, called, certainty = CHANGES[name]
    assert certainty_of(change, called, tmp_path) == ([certainty] if certainty else [])
