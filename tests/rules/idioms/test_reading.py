"""Every expression and statement that is reached is read, where it stands, and no other is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import found_marks, program
from tests.rules.openings import V1

FAULT = "tf.as_string(x)"
READ = [
    "[{} for each in (1, 2)]",
    "[each for each in {}]",
    "[each for each in (1, 2) if {}]",
    "{{each: {} for each in (1, 2)}}",
    "{{{}: each for each in (1, 2)}}",
    '{{"a": {}}}',
    '{{{}: "a"}}',
    "({}, 1)",
    "[*{}]",
    'y = f"{{{}}}"',
    'return f"{{{}}}"',
    "x[{}:]",
    "x[{}]",
    "y = {}",
    "y: int = {}",
    "y = z = {}",
    "x += {}",
    "x.attribute = {}",
    "x[0] = {}",
    "x[{}] = 1",
    "del x[{}]",
    "assert {}",
    "assert x, {}",
    "raise ValueError({})",
    "return {}",
    "x and {}",
    "x or {}",
    "not {}",
    "-{}",
    "1 < 2 < {}",
    "{} if x else 1",
    "1 if x else {}",
    "1 if {} else 2",
    "(y := {})",
    "(lambda: {})()",
    "tf.identity(x, name={})",
    "tf.identity(*[{}])",
    "if x:\n        {}",
    "if x:\n        pass\n    else:\n        {}",
    "if {}:\n        pass",
    "for each in range(3):\n        {}",
    "for each in {}:\n        pass",
    "for each in x:\n        pass\n    else:\n        {}",
    "for each in ():\n        pass\n    else:\n        {}",
    "while x:\n        {}",
    "while {}:\n        pass",
    "while False:\n        pass\n    else:\n        {}",
    "with x:\n        {}",
    "with {}:\n        pass",
    "try:\n        {}\n    except ValueError:\n        pass",
    "try:\n        raise ValueError\n    except {}:\n        pass",
    "try:\n        raise ValueError\n    except ValueError as error:\n        {}",
    "try:\n        pass\n    except ValueError:\n        raise\n    else:\n        {}",
    "try:\n        raise ValueError\n    finally:\n        {}",
    "match {}:\n        case 1:\n            pass",
    "match x:\n        case 1:\n            {}",
    "match x:\n        case 1 if {}:\n            pass",
    "def inner():\n        return {}\n    inner()",
    "def inner():\n        yield {}\n    list(inner())",
    "def inner():\n        yield from {}\n    list(inner())",
    "async def inner():\n        await {}\n    inner()",
    "class Inner:\n        held = {}",
    "class Inner:\n        def __init__(self):\n            {}\n    Inner()",
    "if x:\n        return x\n    {}",
    "while x:\n        return x\n    {}",
    "try:\n        pass\n    except ValueError:\n        pass\n    else:\n        return x\n    {}",
    "try:\n        return x\n    except ValueError:\n        return x\n    except TypeError:\n"
    "        pass\n    {}",
    "try:\n        return library.risk()\n    except ValueError:\n        pass\n    {}",
    "while True:\n        if x:\n            break\n        return x\n    {}",
]
# Each of them stands before what is not reached.
UNREACHED = [
    "return x\n    {}",
    "raise ValueError\n    {}",
    "if x:\n        return x\n    else:\n        raise ValueError\n    {}",
    "if 0:\n        {}",
    "if None is not None:\n        {}",
    "if use_tpu:\n        pass\n    else:\n        {}",
    "1 if use_tpu else {}",
    "for each in ():\n        {}",
    "[{} for each in ()]",
    "while False:\n        {}",
    "while True:\n        return x\n    {}",
    "try:\n        return x\n    finally:\n        pass\n    {}",
    "try:\n        raise ValueError\n    except ValueError:\n        return x\n    {}",
    "try:\n        return x\n    except ValueError:\n        return x\n    {}",
    "try:\n        y = 1\n    except ValueError:\n        pass\n    else:\n        return x\n"
    "    finally:\n        pass\n    if y:\n        return x\n    return y\n    {}",
    "with x:\n        return x\n    {}",
    "True or {}",
    "None and {}",
    "lambda: {}",
    "def inner():\n        {}",
]
READ_BODY = """
import library

def computation(x):
    z = x * 2.0
    {statement}
    return x

tf.tpu.rewrite(computation, [tf.zeros([])])
"""


def rows(statement: str, folder: Path) -> list[int]:
    text = V1 + READ_BODY.replace("{statement}", statement.format(FAULT))
    return [mark.row for mark in found_marks(program(text), folder) if mark.code == "TPU501"]


@pytest.mark.parametrize("statement", READ)
def test_a_reached_statement_is_read_once_in_its_place(statement: str, tmp_path: Path) -> None:
    before = statement[: statement.index("{}")].count("\n")
    assert rows(statement, tmp_path) == [9 + before]


@pytest.mark.parametrize("statement", UNREACHED)
def test_an_unreached_statement_is_not_read(statement: str, tmp_path: Path) -> None:
    assert rows(statement, tmp_path) == []
