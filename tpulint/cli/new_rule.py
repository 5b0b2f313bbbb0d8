"""`tpulint new-rule`: the first version of a rule of your own, with its page and its test.

What it writes works: it reports the calls of one function on the device, and its test passes.
"""

from __future__ import annotations

import argparse
import os
import re

from tpulint.codes import SHAPE
from tpulint.config import ConfigError
from tpulint.plugins import KEBAB_CASE, RESERVED

RULE = '''"""{code}: {summary}."""

from __future__ import annotations

from tpulint.extend import (
    Program,
    Report,
    Rule,
    Severity,
    certainty,
    device_calls,
    path_to_site,
    register,
)

NAME = "my_package.my_function"


@register
class {class_name}(Rule):
    code = "{code}"
    name = "{name}"
    severity = Severity.ERROR
    summary = "{summary}"

    def check(self, program: Program, report: Report) -> None:
        for computation, call in device_calls(program):
            if call.path == NAME:
                report(
                    call.site.span,
                    f"`{{NAME}}` runs on the device: say here what to do instead",
                    certainty=certainty(program, computation, call.context),
                    trace=path_to_site(computation, call.context, call.site, f"calls `{{NAME}}`"),
                )
'''

PAGE = """\
# {code} {name}

## What it does
Reports {summary}.

## Example
```python
import my_package
import tensorflow as tf


def computation(x):
    my_package.my_function(x)  # error: {code}
    return x


tf.compat.v1.tpu.rewrite(computation, [tf.constant(1.0)])
```

## Use instead
```python
import my_package
import tensorflow as tf


def computation(x):
    return x


my_package.my_function(tf.compat.v1.tpu.rewrite(computation, [tf.constant(1.0)]))
```
"""

TEST = '''"""Each program in the pages of this directory is reported as its marks say."""

from pathlib import Path

from tpulint.testing import page_tests

DIRECTORY = Path(__file__).parent

test_pages = page_tests(DIRECTORY, rules_dirs=[DIRECTORY])
'''


def new_rule(options: argparse.Namespace) -> int:
    """Write the files, and overwrite none. Raises ConfigError where there can be no such rule."""
    code, name, summary = options.code, options.name, options.summary.rstrip(".")
    if re.fullmatch(SHAPE, code) is None or code.startswith(RESERVED):
        raise ConfigError(
            f"new-rule: {code!r} is not three capitals and three digits, such as ABC101"
            f" ({RESERVED} is for tpulint's own rules)"
        )
    if re.fullmatch(KEBAB_CASE, name) is None:
        raise ConfigError(f"new-rule: {name!r} is not two or more words in kebab-case")
    stem = f"{code.lower()}_{name.replace('-', '_')}"
    class_name = "".join(word.capitalize() for word in name.split("-"))
    texts = {f"{stem}.py": RULE, f"{stem}.md": PAGE, "test_rules.py": TEST}
    for filename, text in texts.items():
        path = os.path.join(options.directory, filename)
        state = "exists" if os.path.lexists(path) else "written"
        if state == "written":
            filled = text.format(code=code, name=name, summary=summary, class_name=class_name)
            write(path, filled)
        print(f"{state}: {path}")
    print(f"test it:  python -m pytest {options.directory}")
    print(f"run it:   tpulint check --rules-dir {options.directory}")
    return 0


def write(path: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        # "x": a file that came in the meantime is not overwritten either.
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot write the file: {error.strerror}") from None
