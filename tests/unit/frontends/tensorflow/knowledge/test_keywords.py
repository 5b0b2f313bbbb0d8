"""The keywords that `**kwargs` hides are read from bodies that name them, and from no others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.names import Reader
from scripts.wheels import Folder, Library

BASE = """
class Base:
    def __init__(self, name=None, **kwargs):
        for key in kwargs:
            if key not in {"size", "dtype"}:
                raise TypeError(key)
            if kwargs[key] is None:
                print(key)
"""
MAKER = """
class Maker(type):
    def __call__(cls, first, *args, **kwargs):
        if cls is not Made:
            return super(Maker, cls).__call__(first, *args, **kwargs)
        return Other(first, *args, **kwargs)

class Other(metaclass=Maker):
    def __init__(self, first, scale=1):
        pass

class Made(metaclass=Maker):
    pass
"""
CASES = {
    "a test that refuses the rest": (
        "def made(x, **kwargs):\n    y = kwargs.pop('y')\n    if kwargs:\n        raise TypeError",
        "(x,|,y=)",
    ),
    "no test": ("def made(x, **kwargs):\n    return kwargs.get('y')", "(x,**)"),
    "a set of what is allowed": (
        "def made(**kwargs):\n    known = {'a', 'b'}\n    rest = set(kwargs) - known\n"
        "    if rest:\n        raise TypeError",
        "(|,a=,b=)",
    ),
    "a loop over a table of names": (
        "def made(**kwargs):\n    for key, value in {'a': 1}.items():\n"
        "        kwargs.pop(key, value)\n"
        "    if kwargs:\n        raise TypeError",
        "(|,a=)",
    ),
    "a name that is computed": (
        "def made(**kwargs):\n    kwargs.pop(name(), 1)\n    if kwargs:\n        raise TypeError",
        "(**)",
    ),
    "a class that hands on what its base lists": (
        BASE + "class made(Base):\n    def __init__(self, x, **kwargs):\n"
        "        super().__init__(**kwargs)",
        "(x,|,dtype=,name=,size=)",
    ),
    "a class of an unseen base": (
        "from library import Base\nclass made(Base):\n    def __init__(self, x, **kwargs):\n"
        "        super().__init__(**kwargs)",
        "",
    ),
    "a metaclass that makes an object of another class": (
        MAKER + "made = Made",
        "(first,*,scale=)",
    ),
    "a metaclass that is not seen": (
        "from library import Maker\nclass made(metaclass=Maker):\n    def __init__(self, x):\n"
        "        pass",
        "",
    ),
}


@pytest.mark.parametrize(("text", "parameters"), CASES.values(), ids=CASES)
def test_parameters_of_a_function_or_class(text: str, parameters: str, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text(text)
    reader = Reader(Library([Folder(tmp_path, ("package",))]))
    definition = reader.library.follow("package", "made")
    assert isinstance(definition.node, (ast.FunctionDef, ast.ClassDef))
    reader.put("tensorflow.keras.made", definition, 0)
    assert reader.found["tensorflow.keras.made"].parameters == parameters
