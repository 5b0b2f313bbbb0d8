"""The order of a class and its bases, as Python computes it."""

from __future__ import annotations

import random

from tests.unit.reading import names
from tpulint.absint.domain.objects import Class, mro


def test_random_hierarchies_have_the_order_of_python() -> None:
    chance = random.Random(5)
    for _ in range(60):
        classes: dict[str, type] = {}
        lines = []
        for number in range(chance.randint(2, 9)):
            bases = chance.sample(sorted(classes), min(len(classes), chance.randint(0, 3)))
            name = f"C{number}"
            try:
                classes[name] = type(name, tuple(classes[base] for base in bases), {})
            except TypeError:  # Python refuses these bases
                continue
            lines.append(f"class {name}({', '.join(bases)}): pass")
        values = names("\n".join(lines))
        for name, cls in classes.items():
            value = values[name]
            assert isinstance(value, Class)
            assert mro(value) == [values[base.__name__] for base in cls.__mro__[:-1]]
