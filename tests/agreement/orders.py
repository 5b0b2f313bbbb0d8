"""Programs of one computation whose lanes touch the same variables, in every order.

All that decides is in the text: each line is reached, each variable is known. So both halves have
to say the same of each program.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

GRAPH, FUNCTION = "graph", "function"
HEAD = "import tensorflow as tf\n\nimport tpulint.runtime as tpu\n\n"
SHARED = 'tf.compat.v1.variable_scope("shared", reuse=tf.compat.v1.AUTO_REUSE)'
RUN = {
    GRAPH: """
    outputs = tpu.replicate(computation, [[tf.constant(3.0)]] * {replicas})
    with tf.compat.v1.Session() as session:
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(outputs)
""",
    FUNCTION: """

@tf.function(autograph=False)
def step(x):
    return tpu.replicate(computation, [[x]] * {replicas})


step(tf.constant(3.0))
""",
}


@dataclass(frozen=True)
class OrderProgram:
    """`source` is a whole file: it can be read, and it can be run."""

    seed: int
    source: str

    def __str__(self) -> str:
        return f"# seed {self.seed}\n{self.source}"


def order_program(seed: int) -> OrderProgram:
    """The program of `seed`: the same one each time."""
    return OrderProgram(seed, _Writer(random.Random(seed)).program())


@dataclass(frozen=True)
class _Scope:
    """The names that a statement can use: tensors, and operations with no result."""

    tensors: tuple[str, ...]
    operations: tuple[str, ...] = ()
    on_host: bool = False
    depth: int = 0

    def with_tensor(self, name: str) -> _Scope:
        return _Scope((*self.tensors, name), self.operations, self.on_host, self.depth)

    def with_operation(self, name: str) -> _Scope:
        return _Scope(self.tensors, (*self.operations, name), self.on_host, self.depth)

    def deeper(self) -> _Scope:
        return _Scope(self.tensors, self.operations, self.on_host, self.depth + 1)


@dataclass
class _Writer:
    chance: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 0
    names: int = 0
    variables: tuple[str, ...] = ()
    replicas: int = 1

    def program(self) -> str:
        mode = self.chance.choice([GRAPH, FUNCTION])
        self.variables = tuple(f"v{number}" for number in range(self.chance.choice([1, 1, 2])))
        variables = [f"{name} = tf.Variable(1.0)" for name in self.variables]
        self.replicas = self.chance.choice([1, 2])
        run = RUN[mode].format(replicas=self.replicas)
        if mode == FUNCTION:
            self._lines(variables)
            self._computation()
            return HEAD + "\n".join(self.lines) + run
        shared = self.chance.random() < 0.3
        if shared:
            variables = [f'tf.compat.v1.get_variable("{name}", [])' for name in self.variables]
            self.variables = tuple(variables)
        with self._block(f"with tf.Graph().as_default(){f', {SHARED}' * shared}:"):
            self._lines(variables)
            self._computation()
        return HEAD + "\n".join(self.lines) + run

    def _lines(self, texts: list[str]) -> None:
        for text in texts:
            self.lines.append("    " * self.indent + text)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self._lines([head])
        self.indent += 1
        yield
        self.indent -= 1

    def _fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def _computation(self) -> None:
        with self._block("def computation(x):"):
            scope = self._statements(_Scope(("x",)), self.chance.randint(2, 5))
            scope = self._cluster(scope)
            scope = self._statements(scope, self.chance.randint(0, 3))
            self._lines([f"return {self._returned(scope)}"])

    def _returned(self, scope: _Scope) -> str:
        first, other = self._tensor(scope), self._tensor(scope)
        return self.chance.choice(
            [
                first,
                f"{first} * 1.0",
                f"{first}, {other}",
                f"{{'a': {first}}}",
                f"{first} + {other}",
            ]
        )

    def _tensor(self, scope: _Scope) -> str:
        latest = scope.tensors[-3:]
        return self.chance.choice(latest)

    def _variable(self) -> str:
        return self.chance.choice(self.variables)

    def _statements(self, scope: _Scope, count: int) -> _Scope:
        for _ in range(count):
            scope = self._statement(scope)(scope)
        return scope

    def _statement(self, scope: _Scope) -> Callable[[_Scope], _Scope]:
        kinds = [self._arithmetic, self._read, self._write, self._write_only, self._after]
        if not scope.on_host:
            kinds += [self._cluster, self._cluster]
        if not scope.on_host and scope.depth == 0:
            kinds += [self._sum] * self.replicas
        if scope.depth < 2 and self.chance.random() < 0.3:
            kinds.append(self._conditional)
        return self.chance.choice(kinds)

    def _arithmetic(self, scope: _Scope) -> _Scope:
        name = self._fresh("y")
        self._lines([f"{name} = {self._tensor(scope)} + {self._tensor(scope)} * 0.5"])
        return scope.with_tensor(name)

    def _sum(self, scope: _Scope) -> _Scope:
        name = self._fresh("y")
        self._lines([f"{name} = tpu.cross_replica_sum({self._tensor(scope)})"])
        return scope.with_tensor(name)

    def _read(self, scope: _Scope) -> _Scope:
        name, variable = self._fresh("y"), self._variable()
        arguments = self._tensor(scope)
        forms = [
            f"{variable}.read_value()",
            f"{variable} + {arguments}",
            f"{arguments} * {variable}",
            f"tf.identity({variable})",
        ]
        self._lines([f"{name} = {self.chance.choice(forms)}"])
        return scope.with_tensor(name)

    def _write(self, scope: _Scope) -> _Scope:
        name, variable = self._fresh("y"), self._variable()
        method = self.chance.choice(["assign", "assign_add", "assign_sub"])
        self._lines([f"{name} = {variable}.{method}({self._written(scope)})"])
        return scope.with_tensor(name)

    def _written(self, scope: _Scope) -> str:
        return self._tensor(scope) if self.chance.random() < 0.7 else "2.0"

    def _write_only(self, scope: _Scope) -> _Scope:
        name, variable = self._fresh("done"), self._variable()
        written = self._written(scope)
        self._lines([f"{name} = {variable}.assign_add({written}, read_value=False)"])
        return scope.with_operation(name)

    def _after(self, scope: _Scope) -> _Scope:
        arguments = self.chance.choice([*scope.tensors[-2:], *scope.operations[-2:]])
        with self._block(f"with tf.control_dependencies([{arguments}]):"):
            return self._statement(scope)(scope)

    def _conditional(self, scope: _Scope) -> _Scope:
        """Both branches are one function, so that what is in them is reached."""
        name, branch = self._fresh("y"), self._fresh("branch")
        with self._block(f"def {branch}():"):
            inner = self._statements(scope.deeper(), self.chance.randint(1, 2))
            self._lines([f"return {self._tensor(inner)} * 1.0"])
        self._lines([f"{name} = tf.cond({self._tensor(scope)} > 0.0, {branch}, {branch}) * 1.0"])
        return scope.with_tensor(name)

    def _cluster(self, scope: _Scope) -> _Scope:
        host, count = self._fresh("host"), self.chance.choice([0, 1, 1, 2])
        arguments = [self._tensor(scope) for _ in range(count)]
        parameters = [self._fresh("a") for _ in arguments]
        tensors = tuple(parameters)
        if not tensors or self.chance.random() < 0.2:
            tensors = (*tensors, *scope.tensors[:1])
        inner = _Scope(tensors, (), True, scope.depth + 1)
        returns = self.chance.random() < 0.75
        with self._block(f"def {host}({', '.join(parameters)}):"):
            inner = self._statements(inner, self.chance.randint(1, 3))
            if returns:
                end = self.chance.choice(["", " + 1.0"])
                self._lines([f"return {self._tensor(inner)}{end}"])
        call = f"tpu.outside_compilation({', '.join([host, *arguments])})"
        if not returns:
            self._lines([call])
            return scope
        name = self._fresh("y")
        self._lines([f"{name} = {call}"])
        return scope.with_tensor(name)
