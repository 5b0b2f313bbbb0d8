"""Host clusters, by every kind of callee."""

from __future__ import annotations

from dataclasses import replace

from tests.runtime.oracle.statements import Place, statements, tensor
from tests.runtime.oracle.writer import Writer


def cluster(w: Writer, place: Place) -> Place:
    """Write a call of outside_compilation; return the place after it, with its results."""
    kinds = [nested_def, nested_def, nested_def, no_result, structure, builtin, inline, method]
    kinds += [partial, function, keywords] + [misused] * (not w.pure)
    return w.one_of(kinds)(w, place)


def lift(w: Writer) -> str:
    if w.chance(0.05) and not w.pure:
        return "tpu.experimental_map_outside_compilation"
    return "tpu.outside_compilation"


def _host_body(w: Writer, place: Place, *parameters: str) -> Place:
    inside = replace(place.deeper().knowing(*parameters), in_cluster=True)
    return statements(w, inside, 1, 3)


def nested_def(w: Writer, place: Place) -> Place:
    host, name, a = w.fresh("host"), w.fresh("y"), w.fresh("a")
    with w.block(f"def {host}({a}):"):
        w.line(f"return {tensor(w, _host_body(w, place, a))}")
    w.line(f"{name} = {lift(w)}({host}, {tensor(w, place)})")
    return place.knowing(name)


def no_result(w: Writer, place: Place) -> Place:
    host = w.fresh("host")
    with w.block(f"def {host}():"):
        _host_body(w, place)
    w.line(f"{lift(w)}({host})")
    return place


def structure(w: Writer, place: Place) -> Place:
    host, first, two, a = w.fresh("host"), w.fresh("y"), w.fresh("y"), w.fresh("a")
    with w.block(f"def {host}({a}, unused=None):"):
        after = _host_body(w, place, a)
        w.line(f"return {{'one': {tensor(w, after)}, 'two': [{tensor(w, after)}, None]}}")
    w.line(f"both = {lift(w)}({host}, {tensor(w, place)}, unused={{'k': 1}})")
    w.line(f"{first}, {two} = both['one'], both['two'][0]")
    return place.knowing(first, two)


def builtin(w: Writer, place: Place) -> Place:
    name = w.fresh("y")
    w.line(f"{name} = {lift(w)}({w.one_of(['tf.sin', 'tf.identity'])}, {tensor(w, place)})")
    return place.knowing(name)


def inline(w: Writer, place: Place) -> Place:
    name = w.fresh("y")
    w.line(f"{name} = {lift(w)}(lambda a: a + {tensor(w, place)}, {tensor(w, place)})")
    return place.knowing(name)


def method(w: Writer, place: Place) -> Place:
    owner, name, a = w.fresh("Owner"), w.fresh("y"), w.fresh("a")
    with w.block(f"class {owner}:"), w.block(f"def host(self, {a}):"):
        w.line(f"return {tensor(w, _host_body(w, place, a))}")
    w.line(f"{name} = {lift(w)}({owner}().host, {tensor(w, place)})")
    return place.knowing(name)


def partial(w: Writer, place: Place) -> Place:
    host, name, a, b = w.fresh("host"), w.fresh("y"), w.fresh("a"), w.fresh("b")
    with w.block(f"def {host}({a}, {b}):"):
        w.line(f"return {tensor(w, _host_body(w, place, a, b))}")
    bound = f"functools.partial({host}, {b}={tensor(w, place)})"
    w.line(f"{name} = {lift(w)}({bound}, {tensor(w, place)})")
    return place.knowing(name)


def function(w: Writer, place: Place) -> Place:
    host, name, a = w.fresh("host"), w.fresh("y"), w.fresh("a")
    w.line("@tf.function(autograph=False)")
    with w.block(f"def {host}({a}):"):
        w.line(f"return {tensor(w, _host_body(w, place, a))}")
    w.line(f"{name} = {lift(w)}({host}, {tensor(w, place)})")
    return place.knowing(name)


def keywords(w: Writer, place: Place) -> Place:
    host, name, a, b = w.fresh("host"), w.fresh("y"), w.fresh("a"), w.fresh("b")
    with w.block(f"def {host}(*, {a}, {b}):"):
        w.line(f"return {tensor(w, _host_body(w, place, a, b))}")
    w.line(f"{name} = {lift(w)}({host}, {a}={tensor(w, place)}, {b}={tensor(w, place)})")
    return place.knowing(name)


def misused(w: Writer, place: Place) -> Place:
    """Write a call that fails one time in four, or else a plain one."""
    name, a = w.fresh("y"), tensor(w, place)
    faults = [f"tf.sin({a})", f"lambda: {a}, {a}", f"lambda p, q: p, {a}", f"lambda p: p, q={a}"]
    argument = w.one_of(faults) if w.chance(0.25) else f"lambda p: -p, {a}"
    w.line(f"{name} = {lift(w)}({argument})")
    return place.knowing(name)
