"""How time and memory of an analysis grow with what a program has more of.

    python -m benchmarks.growth [--only TEXT] [--largest 640] [--runs 3] [--write]

Each kind of program doubles one dimension (functions, callers, ...) in one shape (a chain, a fan,
diamonds, a registry). A fork checks each program, so user time and the peak of memory are its own.
The exponents are fitted to the upper half of the sizes, where the constant cost of a check hides
nothing. Exit status 1: an exponent is over the limit, or findings are not what they must be.
`--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.analyzer import DOCUMENT, write
from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config

BEGIN, END = "<!-- growth: written by benchmarks/growth.py -->", "<!-- end of growth -->"
SIZES = (10, 20, 40, 80, 160, 320, 640)
MAX_EXPONENT = 1.2
# Of a fork that runs for less than this the clock and the garbage collector say more than the
# analysis; so growth is measured over these seconds, not below.
MIN_SECONDS = 0.02
MIN_MEGABYTES = 1.0

IMPORTS = "import tensorflow.compat.v1 as tf\n"
START = "def train():\n    return tf.tpu.rewrite(step, [tf.constant(1.0)])\n"
FAULT = "tf.py_func(abs, [x], tf.float32)"  # TPU501

Texts = Mapping[str, str]


class Growing(NamedTuple):
    """A kind of program: its texts for a size, and how many findings it must have."""

    texts: Callable[[int], Texts]
    findings: Callable[[int], int]


class Cost(NamedTuple):
    """What one check took, and what it reported: a number by code."""

    seconds: float
    megabytes: float
    codes: dict[str, int]


def program(*parts: str) -> Texts:
    """Return a program of one module, whose step `parts` define."""
    return {"main.py": "\n".join([IMPORTS, *parts, START])}


def joined(line: Callable[[int], str], size: int) -> str:
    """Return a line for each number."""
    return "".join(f"{line(number)}\n" for number in range(size))


def single(_size: int) -> int:
    """Return the number of findings of a program with one fault."""
    return 1


def as_many(size: int) -> int:
    """Return the number of findings of a program with a fault in each part."""
    return size


# Functions: the step leads to N of them.


def chain_of_functions(size: int) -> Texts:
    last = f"def f{size}(x):\n    return x\n"
    links = joined(lambda n: f"def f{n}(x):\n    return f{n + 1}(x) + 1\n", size)
    return program(last, links, f"def step(x):\n    x = f0(x)\n    return {FAULT}\n")


def fan_of_functions(size: int) -> Texts:
    parts = joined(lambda n: f"def f{n}(x):\n    return {FAULT} + {n}\n", size)
    return program(
        parts, "def step(x):", joined(lambda n: f"    x = f{n}(x)", size), "    return x"
    )


def diamonds_of_functions(size: int) -> Texts:
    last = f"def f{size}(x):\n    return x\n"
    links = joined(
        lambda n: (
            f"def f{n}(x):\n    if x is None:\n        return f{n + 1}(x)\n"
            f"    return f{n + 1}(x) + f{n + 1}(x + 1)\n"
        ),
        size,
    )
    return program(last, links, f"def step(x):\n    x = f0(x)\n    return {FAULT}\n")


def registry_of_functions(size: int) -> Texts:
    parts = joined(lambda n: f"def f{n}(x):\n    return {FAULT}\nLAYERS['f{n}'] = f{n}\n", size)
    uses = joined(lambda n: f"    x = LAYERS['f{n}'](x)", size)
    return program("LAYERS = {}\n", parts, "def step(x):", uses, "    return x")


# Callers: N of them lead to the step.

STEP = f"def step(x):\n    return {FAULT}\n"


def chain_of_callers(size: int) -> Texts:
    last = f"def c{size}():\n    return tf.tpu.rewrite(step, [tf.constant(1.0)])\n"
    return program(STEP, last, joined(lambda n: f"def c{n}():\n    return c{n + 1}()\n", size))


def fan_of_callers(size: int) -> Texts:
    helper = "def run(x):\n    return tf.tpu.rewrite(step, [x])\n"
    callers = joined(lambda n: f"def c{n}():\n    return run(tf.constant({n}.0))\n", size)
    return program(STEP, helper, callers)


def diamonds_of_callers(size: int) -> Texts:
    last = f"def c{size}(x):\n    return tf.tpu.rewrite(step, [x])\n"
    links = joined(lambda n: f"def c{n}(x):\n    c{n + 1}(x)\n    return c{n + 1}(x)\n", size)
    return program(STEP, last, links)


def registry_of_callers(size: int) -> Texts:
    helper = "def run(f, x):\n    return tf.tpu.rewrite(f, [x])\n"
    steps = joined(lambda n: f"def f{n}(x):\n    return {FAULT} + {n}\n", size)
    callers = joined(lambda n: f"run(f{n}, tf.constant(1.0))", size)
    return program(helper, steps, callers, "def step(x):\n    return x\n")


# Clusters: N functions of one step run on the host.


def logs(size: int) -> str:
    return joined(lambda n: f"def h{n}(x):\n    return {FAULT}\n", size)


def chain_of_clusters(size: int) -> Texts:
    uses = joined(lambda n: f"    x = tf.tpu.outside_compilation(h{n}, x)", size)
    return program(logs(size), "def step(x):", uses, f"    return {FAULT}\n")


def fan_of_clusters(size: int) -> Texts:
    uses = joined(lambda n: f"    tf.tpu.outside_compilation(h{n}, x)", size)
    return program(logs(size), "def step(x):", uses, f"    return {FAULT}\n")


def diamonds_of_clusters(size: int) -> Texts:
    uses = joined(
        lambda n: (
            f"    y = tf.tpu.outside_compilation(h{n}, x)\n"
            f"    x = tf.tpu.outside_compilation(h{n}, x + 1) + y"
        ),
        size,
    )
    return program(logs(size), "def step(x):", uses, f"    return {FAULT}\n")


def registry_of_clusters(size: int) -> Texts:
    table = "HOSTS = [\n" + joined(lambda n: f"    h{n},", size) + "]\n"
    uses = joined(lambda n: f"    tf.tpu.outside_compilation(HOSTS[{n}], x)", size)
    return program(logs(size), table, "def step(x):", uses, f"    return {FAULT}\n")


# Variables: N of them are changed by one step.


def variables(size: int) -> str:
    return joined(lambda n: f"v{n} = tf.get_variable('v{n}', [])", size)


def chain_of_variables(size: int) -> Texts:
    uses = joined(lambda n: f"    v{n + 1}.assign(v{n}.read_value())", size)
    return program(variables(size + 1), "def step(x):", uses, f"    return {FAULT}\n")


def fan_of_variables(size: int) -> Texts:
    uses = joined(lambda n: f"    v{n}.assign_add(x)", size)
    return program(variables(size), "def step(x):", uses, f"    return {FAULT}\n")


def diamonds_of_variables(size: int) -> Texts:
    uses = joined(lambda n: f"    v{n + 2}.assign(v{n + 1} + v{n})", size)
    return program(variables(size + 2), "def step(x):", uses, f"    return {FAULT}\n")


def registry_of_variables(size: int) -> Texts:
    table = "ALL = {}\n" + joined(lambda n: f"ALL['v{n}'] = tf.get_variable('v{n}', [])", size)
    uses = joined(lambda n: f"    ALL['v{n}'].assign_add(x)", size)
    return program(table, "def step(x):", uses, f"    return {FAULT}\n")


# Classes: N of them; the step calls a method of each, or of the last.

BASE = f"class C0:\n    def call(self, x):\n        return {FAULT}\n"


def chain_of_classes(size: int) -> Texts:
    links = joined(
        lambda n: (
            f"class C{n + 1}(C{n}):\n    def __init__(self):\n        super().__init__()\n"
            f"        self.a{n} = {n}\n    def m{n}(self, x):\n        return x\n"
        ),
        size,
    )
    step = f"def step(x):\n    return C{size}().call(x)\n"
    first = BASE.replace("    def call", "    def __init__(self):\n        pass\n    def call")
    return program(first, links, step)


def fan_of_classes(size: int) -> Texts:
    links = joined(
        lambda n: (
            f"class D{n}(C0):\n    def __init__(self):\n        self.a = {n}\n"
            f"    def call(self, x):\n        return super().call(x) + self.a\n"
        ),
        size,
    )
    uses = joined(lambda n: f"    x = D{n}().call(x)", size)
    return program(BASE, links, "def step(x):", uses, "    return x\n")


def diamonds_of_classes(size: int) -> Texts:
    links = joined(
        lambda n: (
            f"class L{n}(C{n}):\n    pass\nclass R{n}(C{n}):\n    pass\n"
            f"class C{n + 1}(L{n}, R{n}):\n    pass\n"
        ),
        size,
    )
    return program(BASE, links, f"def step(x):\n    return C{size}().call(x)\n")


def registry_of_classes(size: int) -> Texts:
    parts = joined(
        lambda n: (
            f"class D{n}:\n    def call(self, x):\n        return {FAULT}\nMODELS['D{n}'] = D{n}\n"
        ),
        size,
    )
    uses = joined(lambda n: f"    x = MODELS['D{n}']().call(x)", size)
    return program("MODELS = {}\n", parts, "def step(x):", uses, "    return x\n")


# Parameters: N of one function.


def names(size: int, form: str = "p{}") -> str:
    return ", ".join(form.format(number) for number in range(size))


def chain_of_parameters(size: int) -> Texts:
    layers = joined(
        lambda n: f"def f{n}(x, {names(size)}):\n    return f{n + 1}(x, {names(size)})\n", 5
    )
    last = f"def f5(x, {names(size)}):\n    return x + {' + '.join(names(size).split(', '))}\n"
    step = f"def step(x):\n    x = f0(x, {names(size, '{}')})\n    return {FAULT}\n"
    return program(last, layers, step)


def fan_of_parameters(size: int) -> Texts:
    body = joined(lambda n: f"    x = x + p{n}", size)
    function = f"def f(x, {names(size, 'p{}=1')}):\n{body}    return {FAULT}\n"
    arguments = names(size, "p{0}={0}")
    return program(function, f"def step(x):\n    return f(x, {arguments})\n")


def diamonds_of_parameters(size: int) -> Texts:
    both = f"def f(x, {names(size)}):\n    return g(x, {names(size)}) + h(x, {names(size)})\n"
    halves = "".join(
        f"def {name}(x, {names(size)}):\n    return last(x, {names(size)})\n" for name in "gh"
    )
    last = f"def last(x, {names(size)}):\n    return {FAULT} + p{size - 1}\n"
    step = f"def step(x):\n    return f(x, {names(size, '{}')})\n"
    return program(both, halves, last, step)


def registry_of_parameters(size: int) -> Texts:
    table = "P = {\n" + joined(lambda n: f"    'p{n}': {n},", size) + "}\n"
    body = joined(lambda n: f"    x = x + params['p{n}']", size)
    function = f"def f(x, **params):\n{body}    return {FAULT}\n"
    return program(table, function, "def step(x):\n    return f(x, **P)\n")


# Modules: N of them.


def chain_of_modules(size: int) -> Texts:
    links = {
        f"m{n}.py": IMPORTS + f"import m{n + 1}\n\ndef f(x):\n    return m{n + 1}.f(x) + 1\n"
        for n in range(size)
    }
    last = {f"m{size}.py": IMPORTS + "def f(x):\n    return x\n"}
    main = program("import m0\n", f"def step(x):\n    x = m0.f(x)\n    return {FAULT}\n")
    return {**links, **last, **main}


def fan_of_modules(size: int) -> Texts:
    parts = {f"m{n}.py": IMPORTS + f"def f(x):\n    return {FAULT}\n" for n in range(size)}
    uses = joined(lambda n: f"    x = m{n}.f(x)", size)
    return {**parts, **program(joined(lambda n: f"import m{n}", size), "def step(x):", uses)}


def diamonds_of_modules(size: int) -> Texts:
    links = {
        f"{side}{n}.py": IMPORTS
        + f"import l{n + 1}, r{n + 1}\n\ndef f(x):\n    return l{n + 1}.f(x)\n"
        for n in range(size)
        for side in "lr"
    }
    last = {f"{side}{size}.py": IMPORTS + "def f(x):\n    return x\n" for side in "lr"}
    main = program("import l0, r0\n", f"def step(x):\n    x = r0.f(x)\n    return {FAULT}\n")
    return {**links, **last, **main}


def registry_of_modules(size: int) -> Texts:
    parts = {f"m{n}.py": f"{IMPORTS}def f(x):\n    return {FAULT}\n" for n in range(size)}
    table = "LAYERS = {}\n" + joined(lambda n: f"import m{n}\nLAYERS['f{n}'] = m{n}.f", size)
    uses = joined(lambda n: f"    x = LAYERS['f{n}'](x)", size)
    return {**parts, **program(table, "def step(x):", uses)}


KINDS: Mapping[tuple[str, str], Growing] = {
    ("functions", "chain"): Growing(chain_of_functions, single),
    ("functions", "fan"): Growing(fan_of_functions, as_many),
    ("functions", "diamonds"): Growing(diamonds_of_functions, single),
    ("functions", "registry"): Growing(registry_of_functions, as_many),
    ("callers", "chain"): Growing(chain_of_callers, single),
    ("callers", "fan"): Growing(fan_of_callers, single),
    ("callers", "diamonds"): Growing(diamonds_of_callers, single),
    ("callers", "registry"): Growing(registry_of_callers, as_many),
    ("clusters", "chain"): Growing(chain_of_clusters, single),
    ("clusters", "fan"): Growing(fan_of_clusters, single),
    ("clusters", "diamonds"): Growing(diamonds_of_clusters, single),
    ("clusters", "registry"): Growing(registry_of_clusters, single),
    ("variables", "chain"): Growing(chain_of_variables, single),
    ("variables", "fan"): Growing(fan_of_variables, single),
    ("variables", "diamonds"): Growing(diamonds_of_variables, single),
    ("variables", "registry"): Growing(registry_of_variables, single),
    ("classes", "chain"): Growing(chain_of_classes, single),
    ("classes", "fan"): Growing(fan_of_classes, single),
    ("classes", "diamonds"): Growing(diamonds_of_classes, single),
    ("classes", "registry"): Growing(registry_of_classes, as_many),
    ("parameters", "chain"): Growing(chain_of_parameters, single),
    ("parameters", "fan"): Growing(fan_of_parameters, single),
    ("parameters", "diamonds"): Growing(diamonds_of_parameters, single),
    ("parameters", "registry"): Growing(registry_of_parameters, single),
    ("modules", "chain"): Growing(chain_of_modules, single),
    ("modules", "fan"): Growing(fan_of_modules, as_many),
    ("modules", "diamonds"): Growing(diamonds_of_modules, single),
    ("modules", "registry"): Growing(registry_of_modules, as_many),
}


def checked(texts: Texts, runs: int) -> Cost:
    """Check a program in `runs` forks; the least time and the least peak count."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text)
        costs = [in_fork(folder) for _ in range(runs)]
    return min(costs)._replace(megabytes=min(cost.megabytes for cost in costs))


def in_fork(folder: str) -> Cost:
    """Check the files of a folder in a child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as results:
            json.dump(measured_check(folder), results)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as results:
        text = results.read()
    os.waitpid(child, 0)
    return Cost(*json.loads(text))


def measured_check(folder: str) -> Cost:
    """Check the files of a folder, with all rules, and return what that took."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    request = driver.Request(Config(jobs=1), frozenset(CODES), (folder,))
    result = driver.check(driver.discover(request))
    after = resource.getrusage(resource.RUSAGE_SELF)
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Cost(
        after.ru_utime - before.ru_utime,
        (after.ru_maxrss - before.ru_maxrss) / scale,
        dict(Counter(finding.code for finding in result.findings)),
    )


def exponent(sizes: list[int], costs: list[float], least: float) -> float:
    """Return the slope of the costs over the upper half of the sizes, both as logarithms."""
    half = len(sizes) // 2
    points = [
        (math.log(size), math.log(max(cost, least)))
        for size, cost in zip(sizes[half:], costs[half:], strict=True)
    ]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return float(above / sum((x - mean_x) ** 2 for x, _ in points))


def report(sizes: list[int], runs: int, only: str, failures: list[str]) -> Iterator[str]:
    """Yield the lines of the table; add to `failures` what is not as it must be."""
    largest = sizes[-1]
    yield (
        f"Measured on {time.strftime('%Y-%m-%d')}: sizes {sizes[0]} to {largest}, the least of "
        f"{runs} runs; exponents of the upper half of the sizes, at most {MAX_EXPONENT}."
    )
    yield ""
    yield f"| | shape | seconds at {largest} | exponent | MB at {largest} | exponent |"
    yield "|---|---|--:|--:|--:|--:|"
    for (dimension, shape), growing in KINDS.items():
        kind = f"{dimension}, {shape}"
        if only not in kind:
            continue
        costs = [checked(growing.texts(size), runs) for size in sizes]
        for size, cost in zip(sizes, costs, strict=True):
            if cost.codes != {"TPU501": growing.findings(size)}:
                failures.append(f"{kind}: at {size} the findings are {cost.codes}")
        seconds = [cost.seconds for cost in costs]
        megabytes = [cost.megabytes for cost in costs]
        slopes = exponent(sizes, seconds, MIN_SECONDS), exponent(sizes, megabytes, MIN_MEGABYTES)
        for slope, unit in zip(slopes, ("time", "memory"), strict=True):
            if slope > MAX_EXPONENT:
                failures.append(f"{kind}: {unit} grows with the power of {slope:.2f}")
        yield (
            f"| {dimension} | {shape} | {seconds[-1]:.2f} | {slopes[0]:.2f} "
            f"| {megabytes[-1]:.0f} | {slopes[1]:.2f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="kinds that hold this text")
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sizes = [size for size in SIZES if size <= options.largest]
    # What a check imports is not part of its cost.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.py").write_text(fan_of_functions(1)["main.py"])
        measured_check(folder)
    failures: list[str] = []
    lines = []
    for line in report(sizes, options.runs, options.only, failures):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        write("\n".join(lines), BEGIN, END, DOCUMENT)
    print(*failures, sep="\n", file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
