"""The definition that an attribute of an object or a class means.

As in test_containers: `faulty` is what must not be called, and the certainty is what is known of
whether it is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.idioms.held import certainty_of

KIND = "class Kind:\n    "
METHOD = KIND + "def f(self):\n        return faulty"
FIELDS = "class Kind:\n    f: object = sound\n    g: object = faulty"
DIAMONDS = METHOD.replace("Kind", "Kind0") + "".join(
    f"\n\nclass Left{level}(Kind{level}):\n    pass\n\nclass Right{level}(Kind{level}):\n    pass"
    f"\n\nclass Kind{level + 1}(Left{level}, Right{level}):\n    pass"
    for level in range(30)
)
BASE = METHOD + "\n\nclass More(Kind):\n    "

# The definitions, the callee, and the certainty that it is `faulty`.
MEANT = {
    "a method": (METHOD, "Kind().f()", "definite"),
    "a method of the class": (METHOD, "Kind.f(Kind())", "definite"),
    "a method that is inherited in 2**30 ways": (DIAMONDS, "Kind30().f()", "definite"),
    "an inherited method": (BASE + "pass", "More().f()", "definite"),
    "a method that replaces it": (BASE + "def f(self):\n        return sound", "More().f()", ""),
    "the method that was replaced": (
        BASE + "def f(self):\n        return super().f()",
        "More().f()",
        "definite",
    ),
    "a method of two bases": (
        METHOD + "\n\nclass Left(Kind):\n    pass\n\nclass Right(Kind):\n"
        "    def f(self):\n        return sound\n\nclass Both(Left, Right):\n    pass",
        "Both().f()",
        "",
    ),
    "a method of the first of two bases": (
        METHOD + "\n\nclass Other:\n    def f(self):\n        return sound\n\n"
        "class Both(Kind, Other):\n    pass",
        "Both().f()",
        "definite",
    ),
    "what super() means in one of two bases": (
        KIND + "def f(self):\n        return sound\n\nclass Left(Kind):\n    def f(self):\n"
        "        return super().f()\n\nclass Right(Kind):\n    def f(self):\n"
        "        return faulty\n\nclass Both(Left, Right):\n    pass",
        "Both().f()",
        "definite",
    ),
    "a field that is given": (FIELDS, "Kind(faulty).f", "definite"),
    "a field that is given by name": (FIELDS, "Kind(f=faulty).f", "definite"),
    "a field that is not given": (FIELDS, "Kind().f", ""),
    "a field instead of a faulty one": (FIELDS, "Kind(sound, f=sound).g", "definite"),
    "another field instead of a faulty one": (FIELDS, "Kind(sound, sound).g", ""),
    "fields by a list that is not known": (FIELDS, "Kind(*sys.argv).g", ""),
    "fields by a dict that is not known": (FIELDS, "Kind(**sys.flags).g", ""),
    "a field of a base": (
        FIELDS + "\n\nclass More(Kind):\n    h: object = sound",
        "More(1, 2, faulty).h",
        "definite",
    ),
    "attributes by a dict": (
        KIND + "def __init__(self, **fs):\n        self.__dict__.update(fs)",
        "Kind(f=faulty).f",
        "definite",
    ),
    "attributes by a dict that is not known": (
        KIND + "def __init__(self, fs):\n        self.f = [faulty]\n"
        "        self.__dict__.update(fs)",
        "Kind(sys.flags).f[0]",
        "possible",
    ),
    "an object decides": (METHOD, "(faulty if Kind() else sound)", "definite"),
    "an object with a length decides": (
        KIND + "def __len__(self):\n        return 0",
        "(faulty if Kind() else sound)",
        "possible",
    ),
    "an object of a class of Python decides": (
        "class Kind(dict):\n    pass",
        "(faulty if Kind() else sound)",
        "possible",
    ),
    "an object of the plainest class decides": (
        "class Kind(object):\n    pass",
        "(faulty if Kind() else sound)",
        "definite",
    ),
    "a static method": (
        KIND + "@staticmethod\n    def f(a):\n        return a",
        "Kind().f(faulty)",
        "definite",
    ),
    "a class method": (
        KIND + "held = faulty\n    @classmethod\n    def f(cls):\n        return cls.held",
        "Kind.f()",
        "definite",
    ),
    "a class method of an object": (
        KIND + "held = [faulty]\n    @classmethod\n    def f(cls, n):\n        return cls.held[n]",
        "Kind().f(0)",
        "definite",
    ),
    "a property": (
        KIND + "@property\n    def f(self):\n        return faulty",
        "Kind().f",
        "definite",
    ),
    "an attribute of the class": (KIND + "held = {1: faulty}", "Kind().held[1]", "definite"),
    "an attribute that hides that of the class": (
        KIND + "held = sound\n    def __init__(self):\n        self.held = [faulty]",
        "Kind().held[0]",
        "definite",
    ),
    "an attribute that a base sets": (
        KIND + "def __init__(self, f):\n        self.f = f\n\n"
        "class More(Kind):\n    def __init__(self, f):\n        super().__init__(f)",
        "More(faulty).f",
        "definite",
    ),
    "an attribute that another method sets": (
        KIND + "def set(self, f):\n        self.f = f\n\nheld = Kind()\nheld.set(faulty)",
        "held.f",
        "definite",
    ),
    "an object that is called": (
        KIND + "def __call__(self, n):\n        return faulty",
        "Kind()(1)",
        "definite",
    ),
    "a class within a class": (
        KIND + "class Inner:\n        f = [faulty]",
        "Kind.Inner.f[0]",
        "definite",
    ),
    "an attribute by a name that is known": (METHOD, "getattr(Kind(), 'f')()", "definite"),
    "an attribute by a name that is not known": (METHOD, "getattr(Kind(), sys.argv[1])()", ""),
    "an attribute that is set by its name": (
        f"{METHOD}\nheld = Kind()\nsetattr(held, 'g', faulty)",
        "held.g",
        "definite",
    ),
    "a default of a method that is a name of the class": (
        KIND + "held = faulty\n    def f(self, b=held):\n        return b",
        "Kind().f()",
        "definite",
    ),
}


@pytest.mark.parametrize("name", MEANT)
def test_it_is_as_certain_as_the_callee(name: str, tmp_path: Path) -> None:
    change, called, certainty = MEANT[name]
    assert certainty_of(change, called, tmp_path) == ([certainty] if certainty else [])
