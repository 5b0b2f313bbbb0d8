"""The results of methods of lists and dicts, and of Python's functions over them.

As in test_containers: `faulty` is what must not be called, and the certainty is what is known of
whether it is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.idioms.held import certainty_of

BOTH = "held = {'a': sound, 'b': faulty}"
ONE = "held = {'b': faulty}"
OPEN = "held = {'b': faulty, sys.argv[1]: sound}"
MADE = "held = {each: faulty for each in sys.argv}"

# The statements, the callee, and the certainty that it is `faulty`.
CALLS = {
    "an item that is appended": ("held = []\nheld.append(faulty)", "held[0]", "definite"),
    "an item that is added to a deque": (
        "import collections\nheld = collections.deque([faulty])\nheld.append(sound)",
        "held[0]",
        "definite",
    ),
    "an item that is put before the others of a deque": (
        "import collections\nheld = collections.deque([sound])\nheld.appendleft(faulty)",
        "held[0]",
        "definite",
    ),
    "an item that is no longer the first of a deque": (
        "import collections\nheld = collections.deque([faulty])\nheld.appendleft(sound)",
        "held[0]",
        "",
    ),
    "an item of a deque that was turned": (
        "import collections\nheld = collections.deque([faulty, sound])\nheld.rotate(1)",
        "held[0]",
        "possible",
    ),
    "an item of a deque that may be full": (
        "import collections\nheld = collections.deque([faulty, sound], maxlen=1)",
        "held[0]",
        "possible",
    ),
    "the items of two lists one after the other": (
        "import itertools\nheld = list(itertools.chain([sound], [faulty]))",
        "held[1]",
        "definite",
    ),
    "the items of a list of lists": (
        "import itertools\nheld = list(itertools.chain.from_iterable([[sound], [faulty]]))",
        "held[1]",
        "definite",
    ),
    "items after those of an iterable that is not known": (
        "import itertools\nheld = list(itertools.chain(sys.argv, [faulty]))",
        "held[1]",
        "possible",
    ),
    "one of the items is popped": ("held = [sound, faulty]", "held.pop()", "possible"),
    "the only item is popped": ("held = [faulty]", "held.pop()", "definite"),
    "nothing is popped": ("held = []", "held.pop()", ""),
    "what is left after a pop": ("held = [sound, faulty]\nheld.pop()", "held[1]", "possible"),
    "a copy of a list": (
        "first = [faulty]\nheld = first.copy()\nfirst.append(sound)",
        "held[0]",
        "definite",
    ),
    "a copy of a list that grew on some runs": (
        "first = []\nif len(sys.argv) > 1:\n    first.append(sound)\n"
        "held = first.copy()\nheld.append(faulty)",
        "held[0]",
        "possible",
    ),
    "the result of append is nothing": (
        "held = [faulty]",
        "(held.append(sound) or held[0])",
        "definite",
    ),
    "a list of a list": (
        "first = [faulty]\nheld = list(first)\nfirst[0] = sound",
        "held[0]",
        "definite",
    ),
    "a tuple of a list": ("held = tuple([sound, faulty])", "held[1]", "definite"),
    "two lists one after the other": ("held = [sound] + [faulty]", "held[1]", "definite"),
    "a list twice": ("held = [faulty] * 2", "held[1]", "definite"),
    "twice a list": ("held = 2 * [faulty]", "held[1]", "definite"),
    "a list some times": ("held = [faulty] * len(sys.argv) + [sound]", "held[0]", "possible"),
    "an item after what is not known": ("held = [*sys.argv, faulty]", "held[0]", "possible"),
    "an item after what was not known": (
        "held = []\nheld.extend(sys.argv)\nheld.append(faulty)",
        "held[0]",
        "possible",
    ),
    "an item that is not there": ("held = [faulty]", "held[1]", ""),
    "an item of which the place is not known": (
        "held = [sound, faulty]",
        "held[len(sys.argv)]",
        "possible",
    ),
    "items are unpacked": ("one, held = sound, faulty", "held", "definite"),
    "items are unpacked into fewer names": ("held, *rest = faulty, sound", "held", ""),
    "items of one or another are unpacked": (
        "one, held = (sound, faulty) if len(sys.argv) > 1 else (faulty, sound)",
        "held",
        "possible",
    ),
    "the value of a key": (BOTH, "held['b']", "definite"),
    "the value of another key": (BOTH, "held['a']", ""),
    "the value of a key that is not there": (BOTH, "held['c']", ""),
    "the value of a key by get": (BOTH, "held.get('b', sound)", "definite"),
    "a default": ("held = {}", "held.get('b', faulty)", "definite"),
    "no default": ("held = {}", "held.get('b')", ""),
    "a default where there may be other keys": (
        "held = {sys.argv[1]: sound}",
        "held.get('b', faulty)",
        "",
    ),
    "a value that is taken out": (BOTH, "held.pop('b')", "definite"),
    "a value that was taken out": (
        f"{BOTH}\nheld.pop('b')",
        "held.get('b', sound)",
        "",
    ),
    "a value that was deleted": (f"{BOTH}\ndel held['b']", "held.get('b', sound)", ""),
    "a value that is set where there is none": (
        "held = {}",
        "held.setdefault('b', faulty)",
        "definite",
    ),
    "a value that was set where there was none": (
        "held = {}\nheld.setdefault('b', faulty)",
        "held['b']",
        "definite",
    ),
    "a value that is not set, for there is one": (
        f"{ONE}\nheld.setdefault('b', sound)",
        "held['b']",
        "definite",
    ),
    "values": (ONE, "list(held.values())[0]", "definite"),
    "values of a dict that may hold more": (OPEN, "list(held.values())[0]", "possible"),
    "items": (ONE, "list(held.items())[0][1]", "definite"),
    "items of a dict that may hold more": (OPEN, "list(held.items())[0][1]", "possible"),
    "keys": (BOTH, "held[list(held.keys())[1]]", "definite"),
    "keys by iteration": (BOTH, "held[list(held)[1]]", "definite"),
    "keys of a dict that may hold more": (OPEN, "held[list(held.keys())[0]]", "possible"),
    "an update by names": ("held = {}\nheld.update(b=faulty)", "held['b']", "definite"),
    "an update by a dict": ("held = {}\nheld.update({'b': faulty})", "held['b']", "definite"),
    "an update by what is not known": (
        "held = {}\nheld.update(sys.argv)",
        "held.get('b', faulty)",
        "",
    ),
    "an update of what is there by what is not known": (
        "held = {'b': faulty}\nheld.update(sys.argv)",
        "held['b']",
        "possible",
    ),
    "an update by a dict that may hold more": (
        "held = {}\nheld.update({sys.argv[1]: sound})",
        "held.get('b', faulty)",
        "",
    ),
    "a dict of names": ("held = dict(b=faulty)", "held['b']", "definite"),
    "a dict of a dict and names": ("held = dict({'b': sound}, b=faulty)", "held['b']", "definite"),
    "a dict of a dict that may hold more": (
        "held = dict({sys.argv[1]: sound})",
        "held.get('b', faulty)",
        "",
    ),
    "a dict of what is not known": ("held = dict(sys.argv)", "held.get('b', faulty)", ""),
    "a dict in a dict": ("held = {**{'a': sound}, 'b': faulty}", "held['b']", "definite"),
    "pairs of six's zip": (
        "from six.moves import zip\nheld = zip([1, 2], [sound, faulty])",
        "list(held)[1][1]",
        "definite",
    ),
    "what six's map gives": (
        "import six\nheld = six.moves.map(lambda each: faulty, sys.argv)",
        "list(held)[0]",
        "definite",
    ),
    "a dict of a comprehension": (MADE, "held['b']", "definite"),
    "a dict of a comprehension, asked for what is not known": (
        MADE,
        "held[sys.argv[1]]",
        "definite",
    ),
    "a dict of a comprehension in which something else is set": (
        f"{MADE}\nheld[sys.argv[2]] = sound",
        "held[sys.argv[1]]",
        "possible",
    ),
    "a dict of a comprehension that is updated by what is not known": (
        f"{MADE}\nheld.update(sys.modules)",
        "held[sys.argv[1]]",
        "possible",
    ),
    "a dict of a comprehension that is updated by a dict that is not known as a whole": (
        f"{MADE}\nheld.update({{**sys.modules}})",
        "held[sys.argv[1]]",
        "possible",
    ),
    "a copy of a dict of a comprehension": (
        f"{MADE}\ncopy = held.copy()",
        "copy[sys.argv[1]]",
        "definite",
    ),
    "a dict, asked for what is not known": (BOTH, "held[sys.argv[1]]", "possible"),
    "pairs of enumerate": ("held = enumerate([sound, faulty])", "list(held)[1][1]", "definite"),
    "numbers of enumerate": (
        "held = [sound, faulty]",
        "held[list(enumerate(held))[1][0]]",
        "definite",
    ),
    "pairs of enumerate over what may be more": (
        "held = []\nfor each in sys.argv:\n    held.append(sound)\nheld.append(faulty)",
        "list(enumerate(held))[0][1]",
        "possible",
    ),
    "pairs of zip": ("held = zip([1, 2], [sound, faulty])", "list(held)[1][1]", "definite"),
    "pairs of zip over what is not known": (
        "held = zip(sys.argv, [faulty])",
        "list(held)[0][1]",
        "definite",
    ),
    "the length decides": (
        "held = [sound, faulty]\nheld = held[0] if len(held) == 1 else held[1]",
        "held",
        "definite",
    ),
    "the length of what may be more": (
        "held = [faulty]\nif len(sys.argv) > 1:\n    held.append(sound)\n"
        "held = sound if len(held) == 1 else held[0]",
        "held",
        "possible",
    ),
    "an empty list decides": ("held = sound if [] else faulty", "held", "definite"),
    "a list that may be empty": (
        "held = sound if [each for each in sys.argv] else faulty",
        "held",
        "possible",
    ),
    "a range decides": ("held = [sound, faulty]", "held[list(range(2))[1]]", "definite"),
    "a range of six's decides": (
        "from six.moves import xrange\nheld = [sound, faulty]",
        "held[list(xrange(2))[1]]",
        "definite",
    ),
    "a range of large steps": (
        "held = [sound, faulty]",
        "held[list(range(0, 4, 3))[-1] - 2]",
        "definite",
    ),
    "the next of an iterator": ("held = iter([faulty])", "next(held)", "definite"),
    "the first of several by next": ("held = iter([sound, faulty])", "next(held)", "possible"),
    "what map gives": ("held = list(map(lambda each: each, [faulty]))", "held[0]", "definite"),
    "what can be called": ("held = faulty if callable(sound) else sound", "held", "definite"),
    "what has an attribute is not known": (
        "held = faulty if hasattr(sys, 'x') else sound",
        "held",
        "possible",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_as_certain_as_the_callee(name: str, tmp_path: Path) -> None:
    change, called, certainty = CALLS[name]
    assert certainty_of(change, called, tmp_path) == ([certainty] if certainty else [])
