"""The picture of the packages in docs/architecture.md: who imports whom, by the imports there are.

An arrow that follows from others is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from scripts.imports import LAYERS, import_graph, package_of

Graph = Mapping[str, set[str]]

# One box for the modules below all packages, for the facts of single files, for the files that
# begin an analysis, and for the commands that have a directory of their own.
BASE, FACTS, ENTRY, FEATURES = "base", "file_facts", "build_program", "features"
_FRONT = "frontends.tensorflow"
LABELS = {
    "cli": "commands, options, pytest plugin; extend and testing for plugins",
    "server": "the Language Server Protocol",
    FEATURES: "explain, map, run: a directory per command",
    "check": "the steps of a check, in one driver",
    "incremental": "results stored with their dependencies, and the queries of a check",
    "output": "one function per format, and the pictures of a map",
    "rules": "one module per rule, its page beside it; plugins",
    "diagnostics": "traces, fixes, suppressions, baseline",
    "queries": "questions that several rules ask about a program",
    ENTRY: "the entry points of a program, and what they lead to",
    f"{_FRONT}.models": "models of TensorFlow calls, in one table",
    _FRONT: "a front end: strategies, Keras, flags, hooks",
    "absint.interpreter": "the abstract interpreter of Python",
    "absint.resolver": "module resolution",
    "absint.domain": "sites, contexts, values, events, the program",
    FACTS: "the facts of single files, and their target release",
    "syntax": "typed nodes of modules, from CPython's syntax tree",
    BASE: "config, frontends.tensorflow.knowledge, source, finding, codes, hardware, ordering",
    "runtime": "TPU programs on a CPU: mark, extract, schedule, execute",
}
_FILES = {name: box for names, box in zip(LAYERS, (BASE, BASE)) for name in names}
_FILES |= dict.fromkeys(LAYERS[3], FACTS) | dict.fromkeys(LAYERS[9], ENTRY)
_FILES |= dict.fromkeys(LAYERS[16], FEATURES)
_FILES |= {"map.pictures": "output", "__main__": "cli"}
_FILES |= {"absint": "absint.domain", "frontends": _FRONT}
_FILES |= {"plugins": "rules", "extend": "cli", "worker_pool": "check", "testing": "cli"}


def mermaid() -> str:
    """Return the picture as a mermaid block."""
    graph = package_graph()
    lines = [f'    {_node(name)}["{name}: {LABELS[name]}"]' for name in LABELS]
    lines += [
        f"    {_node(name)} --> {_node(imported)}"
        for name in LABELS
        for imported in sorted(reduced(graph)[name], key=list(LABELS).index)
    ]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def package_graph() -> dict[str, set[str]]:
    """Return which boxes of the picture import which others."""
    graph: dict[str, set[str]] = {name: set() for name in LABELS}
    for module, imported in import_graph().items():
        box = box_of(module)
        graph[box] |= {box_of(name) for name in imported} - {box}
    return graph


def box_of(module: str) -> str:
    """Return the box of the picture that the module is in."""
    package = package_of(module)
    return _FILES.get(package, package)


def reduced(graph: Graph) -> dict[str, set[str]]:
    """Return `graph`, which has no circle, without the arrows that follow from others."""

    def reached(name: str) -> set[str]:
        return set[str]().union(*({imported} | reached(imported) for imported in graph[name]))

    return {
        name: imported - set[str]().union(*(reached(target) for target in imported))
        for name, imported in graph.items()
    }


def _node(name: str) -> str:
    return name.replace(".", "_")
