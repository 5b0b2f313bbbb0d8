"""docs/proof.md: what proves each rule, from the rules' pages and the tests of the runtime.

Nothing runs here. The programs of the pages say what they do under the runtime, and the tests check
that they do it; `tests/runtime` is read for the functions that name a rule.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.rules.pages import pages
from tpulint.codes import CODES, SHAPE
from tpulint.testing import Block, Page

ROOT = Path(__file__).parents[1]
RUNTIME_TESTS = ROOT / "tests" / "runtime"
# They show that a fix changes nothing, not that a fault is one.
TESTS_OF_FIXES = "test_safe_fixes.py"
NEWEST, OLDEST, BOTH = "newest", "oldest", "both"

HEAD = """\
# What proves each rule

For {proved} of {all} rules, a test runs a program with the fault and checks what happens. For the
others, [a section below](#what-is-not-proven) says why not. This page is generated from the rules'
pages and from `tests/runtime`.

## Proofs

- **fails**: programs of the rule's page that end with this error under the runtime; it leads to the
  marked line. "TensorFlow" precedes an error that TensorFlow or Keras raises itself.
- **warns**: programs of the page that run with this warning; it leads to the marked line.
- **runs**: reported programs of the page that run to their end. No error is raised; most of them
  check the values or counts that are wrong.
- **tests**: functions in `tests/runtime` that name the rule. Programs of pages are not counted.
- **releases**: the TensorFlow on which this is tested: newest, oldest, or both (2.21 and 2.12 in
  CI). Programs of pages run on the newest. The newest has no `TPUEstimator`.
- **silent**: programs of the page about which every rule is silent; in brackets, those that run.

| rule | fails | warns | runs | tests | releases | silent |
|---|---|---|---|---|---|---|
"""
ERRORS = """
## Errors without a rule

These errors and warnings of the runtime belong to no rule:

| class | meaning | why there is no rule |
|---|---|---|
"""
# Each class of tpulint/runtime/errors.py that has no rule.
REASONS = {
    "EmbeddingError": "The ids are data. TPU709 reports the misuse that the source shows.",
    "GradientColocationError": "TensorFlow asserts this in one combination of its own contexts.",
    "InternalError": "It is a fault of tpulint.",
    "PartialNanWarning": "Many faults end in NaN, and some data has it.",
    "UnorderedAccessWarning": "The program may still compute what its author means.",
}
OTHERS = """
Four more faults have no rule:

- `DeadlockError` names none if no variable holds the lanes. The cause may be a thread or a queue
  outside the program's source.
- A step that exceeds its `--deadline` is only too slow.
- XLA refuses some shapes and attributes when it compiles. `UnsupportedOpError` then has XLA's words
  and the operation's line, but no rule.
- TensorFlow raises a `TypeError` (`'>' not supported between instances of 'int' and 'NoneType'`)
  where the first replica's input has a fixed size and a later replica's has none. So does `predict`
  of Keras 3 if only the later replicas' part of the last batch is smaller. The rows are data.

Two warnings name a rule where `tpulint check` is silent:

- `UnsynchronizedVariableWarning` (TPU710) for gradients that a step accumulates, and that no step
  sums, or one reads on each core. `check` does not follow gradients to the steps that read them.
  Neither warns of gradients that steps only sum.
- `EqualRowsWarning` (TPU714) for arrays and generators that each host gives to its replicas. In the
  source they may be other ones on each host. `check` reports only files that each host reads in
  the same order, with `--certainty unlikely`, because most TPUs have one host.

An error that TensorFlow or Keras raises is linked to a rule if `raised_errors.toml` has its text.
Other errors are left as they are. Most of them are not specific to TPUs. These have no text that
could be linked:

- `NotImplementedError` with no text: variables of a strategy lack `scatter_nd_add`, `count_up_to`
  and `batch_scatter_update`, and those that are `ON_READ` also lack `scatter_add`.
- `AttributeError` with no text: variables of a strategy lack `gather_nd` and `sparse_read`. The
  functions `tf.gather_nd` and `tf.gather` accept them.
- `ValueError` where `reduce` gets another word than SUM or MEAN, and where `gather` or a `reduce`
  along an axis gets a scalar of each replica. Every strategy refuses these at the line.
- `AttributeError` where something else than a dataset is distributed, such as a list or a
  distributed dataset.
"""
REFUSED = """
These errors of TensorFlow and Keras in a step, or around it, belong to no rule. `tpulint run` shows
them with the line of the program:

| error | file | why there is no rule |
|---|---|---|
"""
ANY_STRATEGY = (
    "Every strategy raises it at the line that is wrong, and its text says what to write."
)
AT_THE_LINE = "It is raised at the line that is wrong, and its text says what to write."
ASSIGNMENT = "It depends on the cores of a replica, which the device assignment decides."
ANY_DEVICE = "It is raised on every device, and its text says what is wrong."
LOSS_SCALE = "Only an optimizer for float16 raises it, and bfloat16 needs none on a TPU."


class Refusal(NamedTuple):
    """A text of an error, a file of an installed package that raises it, and why it has no rule.

    The file is that of Keras 3 and of the TensorFlow that has it, or, with `is_old`, of 2.12.
    """

    text: str
    file: str
    reason: str
    is_old: bool = False


_DISTRIBUTE = "tensorflow/python/distribute"
REFUSALS = (
    *(
        Refusal(
            text,
            f"{_DISTRIBUTE}/tpu_strategy.py",
            "The text says what to write, and few programs pass variables.",
        )
        for text in (
            "cannot handle Variables passed to *args.",
            "cannot handle both Variables and a mix of positional args and *args.",
            "Mixing Variables and positional-only parameters not supported",
        )
    ),
    Refusal(
        "InputReplicationMode.PER_REPLICA is only supported in",
        f"{_DISTRIBUTE}/tpu_strategy.py",
        "The program asks for it in so many words.",
    ),
    *(
        Refusal(text, f"{_DISTRIBUTE}/tpu_strategy.py", ASSIGNMENT)
        for text in (
            "to assign must be lower then total number of logical devices per replica",
            "The product of `partition_dimensions` should be the same as the number",
            "`logical_device_id` not in range",
        )
    ),
    Refusal("out of range for `value` with rank", f"{_DISTRIBUTE}/distribute_lib.py", ANY_STRATEGY),
    Refusal("Expected `reduce_op` to be", f"{_DISTRIBUTE}/distribute_lib.py", ANY_STRATEGY),
    Refusal(
        "is not divisible by `num_replicas_in_sync`",
        f"{_DISTRIBUTE}/distribute_lib.py",
        "It depends on the number of replicas, and the report says with which it works.",
    ),
    *(
        Refusal(text, file, ANY_STRATEGY)
        for text, file in (
            ("gather does not support IndexedSlices", f"{_DISTRIBUTE}/distribute_lib.py"),
            (
                "Must not be called inside a `tf.distribute.Strategy`",
                f"{_DISTRIBUTE}/distribute_lib.py",
            ),
            ("cannot be reduced with the given reduce op", f"{_DISTRIBUTE}/cross_device_ops.py"),
            ("`NONE` variable synchronization mode is not", f"{_DISTRIBUTE}/distribute_utils.py"),
            ("Invalid variable synchronization mode:", f"{_DISTRIBUTE}/distribute_utils.py"),
            ("Invalid variable aggregation mode:", f"{_DISTRIBUTE}/distribute_utils.py"),
            ("When `experimental_place_dataset_on_device` is set", f"{_DISTRIBUTE}/input_util.py"),
            ("enumerate not supported with", f"{_DISTRIBUTE}/input_lib.py"),
        )
    ),
    Refusal(
        "break and return statements are not yet supported in",
        "tensorflow/python/autograph/operators/control_flow.py",
        "Every strategy raises it for such a loop outside a step. TPU705 reports loops in a step.",
    ),
    *(
        Refusal(text, f"tensorflow/python/tpu/{file}.py", AT_THE_LINE)
        for text, file in (
            ("is an unsupported optimizer class", "tpu_embedding_v2"),
            ("Tables must have a unique name", "tpu_embedding_v2"),
            ("called on unbuilt TPUEmbedding object", "tpu_embedding_v2"),
            ("Found gradient of shape", "tpu_embedding_v2"),
            ("Weight specified for dense input", "tpu_embedding_v2"),
            ("Rank 2 or above dense tensor should have last dimension as 1", "tpu_embedding_v2"),
            ("Unable to retrieve embedding tables when using a TPU strategy", "tpu_embedding_v2"),
            ("CrossShardOptimizer only works with tf.training.Optimizer", "tpu_optimizer"),
            ("inputs must be a list of Tensors or None", "tpu"),
            ("Length of input_shard_axes must be equal", "tpu"),
            ("Length of output_shard_axes must be equal", "tpu"),
            ("num_shards must be a positive integer", "tpu"),
            ("TPU training loop body must return zero or more Tensor", "training_loop"),
            ("Mismatch between input types and output types for training loop", "training_loop"),
            ("Can't generate two dequeue Ops from the same queue", "tpu_feed"),
            ("Can't freeze an InfeedQueue without setting all tuple", "tpu_feed"),
        )
    ),
    Refusal(
        "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype",
        f"{_DISTRIBUTE}/values.py",
        ANY_STRATEGY,
    ),
    Refusal("is only supported for mirrored", f"{_DISTRIBUTE}/values_util.py", ANY_STRATEGY),
    *(
        Refusal(text, f"{_DISTRIBUTE}/tpu_strategy.py", AT_THE_LINE)
        for text in (
            "Length of `partition_dimensions` must equal to the rank",
            "must be divisible by corresponding value specified by `partition_dimensions`",
        )
    ),
    Refusal(
        "not accessible within a TPU context",
        f"{_DISTRIBUTE}/tpu_values.py",
        "The error names an attribute that variables of a strategy do not have.",
    ),
    Refusal("Tensor is unhashable.", "tensorflow/python/framework/tensor.py", ANY_DEVICE),
    Refusal(
        "No gradients provided for any variable",
        "keras/src/optimizers/base_optimizer.py",
        ANY_DEVICE,
    ),
    Refusal("does not have a `call()`", "keras/src/models/model.py", ANY_DEVICE),
    Refusal(
        "apply() must be called in a replica context.",
        "keras/src/optimizers/loss_scale_optimizer.py",
        LOSS_SCALE,
    ),
    Refusal(
        "Loss scaling is not supported with TPUStrategy.",
        "keras/mixed_precision/loss_scale_optimizer.py",
        LOSS_SCALE,
        is_old=True,
    ),
    Refusal(
        "When providing a distributed dataset, you must specify the number of steps to run.",
        "keras/engine/data_adapter.py",
        ANY_STRATEGY,
        is_old=True,
    ),
    Refusal(
        "`distribute` argument in compile is not available in TF 2.0.",
        "keras/engine/training.py",
        ANY_STRATEGY,
        is_old=True,
    ),
)
UNPROVEN = """
## What is not proven

No test runs a program that these rules report. The text is from "At run time" on the rule's page:

| rule | what happens at run time |
|---|---|
"""
NOT_RUN = """
## Reported programs that are not run

The tests run some of the programs on each page, and analyze all of them. Those that are not run
show variants of the pattern, often across modules or with parts left out:

| rule | reported programs | of these, run |
|---|---|---|
"""


class RuntimeTest(NamedTuple):
    """A test function that names `code`, and the releases on which it runs."""

    code: str
    module: str
    function: str
    release: str


class Proof(NamedTuple):
    """What the page and the tests of one rule have."""

    page: Page
    fails: tuple[Block, ...]
    warns: tuple[Block, ...]
    runs: tuple[Block, ...]
    silent: tuple[Block, ...]
    tests: tuple[RuntimeTest, ...]

    @property
    def is_proved(self) -> bool:
        return bool(self.fails or self.warns or self.runs or self.tests)

    @property
    def releases(self) -> str:
        releases = {test.release for test in self.tests}
        if self.fails or self.warns or self.runs:
            releases.add(NEWEST)
        if {NEWEST, OLDEST} <= releases:
            releases = {BOTH}
        return BOTH if BOTH in releases else ", ".join(sorted(releases))


def proof() -> str:
    """Return the whole page."""
    proofs = list(read_proofs())
    proved = [row for row in proofs if row.is_proved]
    text = HEAD.format(proved=len(proved), all=len(proofs))
    text += "".join(proof_row(row) for row in proofs)
    text += ERRORS + "".join(error_rows())
    text += OTHERS + REFUSED + "".join(map(refusal_row, REFUSALS))
    text += UNPROVEN + "".join(unproven_row(row) for row in proofs if not row.is_proved)
    return text + NOT_RUN + "".join(map(not_run_row, proofs))


def read_proofs() -> Iterator[Proof]:
    """Yield the proof of each rule, by code."""
    tests = list(runtime_tests())
    for page in sorted(pages(), key=lambda page: page.code):
        reported = [block for block in page.blocks if _reports(block, page.code)]
        fails, warns, runs = (
            tuple(block for block in reported if block.verb == verb)
            for verb in ("raises", "warns", "runs")
        )
        silent = tuple(block for block in page.blocks if not block.expected)
        named = tuple(test for test in tests if test.code == page.code)
        yield Proof(page, fails, warns, runs, silent, named)


def _reports(block: Block, code: str) -> bool:
    return any(mark.code == code for mark in block.expected)


# The rows of the tables.


def proof_row(row: Proof) -> str:
    """Return the line of one rule."""
    ran = sum(block.verb == "runs" for block in row.silent)
    cells = [
        _link(row.page.code),
        _errors(row.fails),
        _errors(row.warns),
        str(len(row.runs) or ""),
        ", ".join(_test_links(row.tests)),
        row.releases,
        f"{len(row.silent)} ({ran})",
    ]
    return f"| {' | '.join(cells)} |\n"


def refusal_row(row: Refusal) -> str:
    """Return the line of one error of TensorFlow or Keras."""
    text = f"`` {row.text} ``" if "`" in row.text else f"`{row.text}`"
    release = " (2.12)" if row.is_old else ""
    return f"| {text} | `{row.file}`{release} | {row.reason} |\n"


def _errors(blocks: Iterable[Block]) -> str:
    own = {node.name for node in _error_classes()}
    words = [
        f"`{block.error}`" if block.rule or block.error in own else f"TensorFlow `{block.error}`"
        for block in blocks
    ]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _test_links(tests: Iterable[RuntimeTest]) -> Iterator[str]:
    modules = [test.module for test in tests]
    for module in dict.fromkeys(modules):
        yield f"{modules.count(module)} in [{Path(module).stem}](../{module})"


def error_rows() -> Iterator[str]:
    """Yield a line for each class of the runtime's errors that names no rule."""
    for node in _error_classes():
        if not _has_rule(node):
            meaning = (ast.get_docstring(node) or "").splitlines()[0]
            yield f"| `{node.name}` | {meaning} | {REASONS[node.name]} |\n"


@functools.cache
def _error_classes() -> tuple[ast.ClassDef, ...]:
    """Return the classes of the runtime's errors and warnings, without their two bases."""
    tree = _parse(ROOT / "tpulint" / "runtime" / "errors.py")
    bases = {"RuntimeFault", "RuntimeFaultWarning"}
    return tuple(
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and bases & {ast.unparse(base) for base in node.bases}
    )


def _has_rule(node: ast.ClassDef) -> bool:
    return any(keyword.arg == "rule" for keyword in node.keywords)


def unproven_row(row: Proof) -> str:
    """Return the line of a rule without a proof, with what its page says of run time."""
    text = row.page.path.read_text(encoding="utf-8")
    section = text.partition("\n## At run time\n")[2].partition("\n## ")[0]
    return f"| {_link(row.page.code)} | {' '.join(section.split())} |\n"


def not_run_row(row: Proof) -> str:
    """Return the line that counts the reported programs of a page."""
    reported = [block for block in row.page.blocks if _reports(block, row.page.code)]
    ran = sum(bool(block.verb) for block in reported)
    return f"| {_link(row.page.code)} | {len(reported)} | {ran} |\n"


def _link(code: str) -> str:
    return f"[{code}](../tpulint/rules/{CODES[code].path}.md) {CODES[code].name}"


# The tests of the runtime that name a rule.


def runtime_tests(folder: Path = RUNTIME_TESTS) -> Iterator[RuntimeTest]:
    """Yield the test functions below `folder` that name a rule, and a row for each rule."""
    for path in sorted(folder.rglob("test_*.py")):
        if path.name != TESTS_OF_FIXES:
            yield from read_tests(path)


def read_tests(path: Path) -> Iterator[RuntimeTest]:
    """Yield the tests of one module; they name the codes that they or their parameters hold."""
    tree = _parse(path)
    constants = {
        target.id: _codes_in(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    of_module = NEWEST if _runs_on_newest(_marks_of(tree)) else BOTH
    module = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    for function, release in _functions(tree, of_module):
        names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        codes = _codes_in(function).union(*(constants.get(name, set()) for name in names))
        for code in sorted(codes & set(CODES)):
            yield RuntimeTest(code, module, function.name, release)


def _marks_of(tree: ast.Module) -> list[ast.expr]:
    """Return the marks that a module gives to all its tests."""
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]


def _functions(tree: ast.Module, release: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    for node in tree.body:
        if isinstance(node, ast.If) and "estimator" in ast.unparse(node.test):
            inner: list[ast.stmt] = node.body
            of_block = OLDEST
        else:
            inner, of_block = [node], release
        for part in inner:
            if isinstance(part, ast.FunctionDef) and part.name.startswith("test_"):
                newest = _runs_on_newest(part.decorator_list)
                yield part, NEWEST if newest else of_block


def _runs_on_newest(marks: Iterable[ast.expr]) -> bool:
    return any("any_release" in ast.unparse(mark) for mark in marks)


def _codes_in(tree: ast.AST) -> set[str]:
    return {
        code
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in re.findall(rf"\b{SHAPE}\b", node.value)
    }


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
