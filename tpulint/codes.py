"""The one map from codes to rules.

A code is stable once shipped: suppressions, baselines, configurations and the
runtime's errors carry it. A rule is in the file that its code and name spell, in the directory of
its family: `tpulint/rules/clusters/tpu201_nested_outside_compilation.py`, its page beside it.
"""

from __future__ import annotations

from typing import NamedTuple

from tpulint.finding import Applicability, Severity


class Family(NamedTuple):
    """The rules whose codes begin alike: their directory in tpulint/rules, and their title."""

    directory: str
    title: str


# By the beginning of the codes. Those of the tool itself have only pages.
FAMILIES = {
    "TPU0": Family("", "The tool itself"),
    "TPU1": Family("variables", "Variables: deadlocks and lost updates"),
    "TPU2": Family("clusters", "Host clusters: nesting and scope"),
    "TPU3": Family("control_flow", "Control flow"),
    "TPU4": Family("replicate", "The replicate family: arguments and outputs"),
    "TPU5": Family("device_code", "Operations, dtypes and shapes on the device"),
    "TPU6": Family("estimator", "TPUEstimator and input pipelines"),
    "TPU7": Family("strategy", "TPUStrategy"),
    "TPU8": Family("names", "The API itself"),
}


class Code(NamedTuple):
    """`code` as users write it, `name` in kebab case, `summary` one line without a full stop.

    `fixes` are the kinds of fix that its findings can come with.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    fixes: tuple[Applicability, ...] = ()

    @property
    def path(self) -> str:
        """The path of the rule's module and of its page, in tpulint/rules and without a suffix."""
        stem = f"{self.code.lower()}_{self.name.replace('-', '_')}"
        return f"{FAMILIES[self.code[:4]].directory}/{stem}".lstrip("/")

    @property
    def url(self) -> str:
        """The rule's page on the web."""
        return f"{PAGES}/{self.path}.md"


HOME = "https://github.com/tpulint/tpulint"
PAGES = f"{HOME}/blob/main/tpulint/rules"
SHAPE = r"TPU\d{3}"

E, W = Severity.ERROR, Severity.WARNING
SAFE, UNSAFE = Applicability.SAFE, Applicability.UNSAFE

_ROWS = (
    Code("TPU001", "syntax-error", E, "a file that cannot be parsed"),
    Code("TPU002", "unused-suppression", W, "a suppression comment that suppresses nothing", (SAFE,)),
    Code(
        "TPU101",
        "host-variable-deadlock",
        E,
        "a host cluster waits for a variable that the waiting device program holds",
        (UNSAFE,),
    ),
    Code(
        "TPU102",
        "device-variable-in-host-cluster",
        E,
        "a variable of a TPUStrategy scope is touched in a host cluster",
        (UNSAFE,),
    ),
    Code(
        "TPU103",
        "unseen-host-update",
        E,
        "a host cluster and the device touch one variable, unseen by each other",
    ),
    Code(
        "TPU104",
        "variable-created-on-device",
        E,
        "a variable is created again inside the function given to run",
    ),
    Code(
        "TPU105",
        "global-step-in-host-cluster",
        E,
        "a host cluster reads the global step that the computation updates",
        (UNSAFE,),
    ),
    Code(
        "TPU201",
        "nested-outside-compilation",
        E,
        "a host cluster is reached from inside another one",
        (UNSAFE,),
    ),
    Code("TPU202", "nested-tpu-computation", E, "a TPU computation is built inside another"),
    Code(
        "TPU203",
        "outside-compilation-no-op",
        W,
        "outside_compilation where no TPU computation can be active",
        (UNSAFE,),
    ),
    Code("TPU204", "unsafe-cluster-guard", W, "a hand-written nesting guard that is wrong"),
    Code("TPU205", "cluster-called-not-passed", E, "the host function is called instead of passed", (UNSAFE,)),
    Code(
        "TPU206",
        "gradient-not-colocated",
        E,
        "a gradient through a host cluster is compiled for the device",
        (SAFE,),
    ),
    Code("TPU207", "host-value-escapes", E, "a host tensor leaves its cluster by a side door"),
    Code("TPU208", "callee-arity", E, "the host function cannot take its arguments"),
    Code(
        "TPU301",
        "differing-control-flow-context",
        E,
        "a host cluster ends in another control-flow context than it started in",
    ),
    Code(
        "TPU302", "context-cleared", W, "outside_compilation where the TPU context has been cleared"
    ),
    Code(
        "TPU303",
        "tensor-crosses-control-flow",
        E,
        "a tensor of a branch or a loop body is used outside it",
    ),
    Code(
        "TPU304",
        "lost-control-dependency",
        W,
        "control_dependencies around nothing that creates an operation",
    ),
    Code(
        "TPU305",
        "synchronization-under-condition",
        E,
        "replicas synchronize under a tensor condition",
    ),
    Code("TPU306", "divergent-collective", E, "a collective that only some replicas reach"),
    Code("TPU401", "inputs-not-per-replica", E, "replicate inputs that are not a list of lists", (UNSAFE,)),
    Code(
        "TPU402",
        "unequal-replica-inputs",
        E,
        "replicas get inputs of different number, structure or dtype",
    ),
    Code("TPU403", "computation-arity", E, "the computation cannot take the inputs it is given"),
    Code("TPU404", "maximum-shapes-mismatch", E, "maximum_shapes does not fit the inputs"),
    Code("TPU405", "deprecated-name", W, "name= does nothing", (SAFE, UNSAFE)),
    Code("TPU406", "unfetchable-op", E, "what a TPU computation made is fetched or fed outside it"),
    Code("TPU407", "bad-output-order", E, "an operation where a tensor must be in the outputs"),
    Code("TPU408", "device-assignment-needed", E, "a device assignment is needed and missing"),
    Code("TPU409", "padding-has-no-effect", W, "padding_spec without effect", (SAFE,)),
    Code("TPU501", "unsupported-op", E, "an operation with no TPU kernel in device code"),
    Code(
        "TPU502", "dynamic-shape", E, "a shape that must be a compile-time constant depends on data"
    ),
    Code(
        "TPU503",
        "dynamic-tensor-array",
        E,
        "a growing TensorArray is silently truncated on the device",
    ),
    Code("TPU504", "unsupported-dtype", E, "a dtype that the TPU lacks", (UNSAFE,)),
    Code("TPU505", "host-transfer-in-loop", W, "one host round trip an iteration"),
    Code(
        "TPU506", "trace-time-side-effect", W, "a Python side effect that runs once, at trace time"
    ),
    Code(
        "TPU507",
        "concrete-value-needed",
        E,
        "Python or NumPy asks a tensor of device code for its value",
    ),
    Code("TPU601", "host-call-captures-tensor", E, "host_call closes over a tensor of model_fn"),
    Code("TPU602", "host-call-arity", E, "the host_call function cannot take its tensors"),
    Code("TPU603", "scalar-outfeed", E, "a scalar with no batch dimension is sent to the host", (UNSAFE,)),
    Code(
        "TPU604",
        "missing-cross-shard-optimizer",
        E,
        "an optimizer that is not wrapped in CrossShardOptimizer",
        (UNSAFE,),
    ),
    Code("TPU605", "missing-drop-remainder", E, "a batch of unknown last size feeds the TPU", (UNSAFE,)),
    Code(
        "TPU606", "reserved-params", E, "params holds a reserved key or an indivisible batch size"
    ),
    Code("TPU607", "host-only-input", E, "an input pipeline that a remote TPU host cannot run"),
    Code(
        "TPU608",
        "wrong-estimator-spec",
        E,
        "a specification, model_fn or input_fn of a form that TPUEstimator refuses",
        (UNSAFE,),
    ),
    Code(
        "TPU609",
        "batch-ignores-params",
        E,
        "an input_fn whose batch is not the one that TPUEstimator asks for",
    ),
    Code("TPU701", "run-outside-function", E, "TPUStrategy.run in eager mode", (UNSAFE,)),
    Code(
        "TPU702",
        "created-outside-scope",
        E,
        "a model, optimizer or metric created outside strategy.scope()",
        (UNSAFE,),
    ),
    Code("TPU703", "scope-in-step", W, "strategy.scope() inside the step", (UNSAFE,)),
    Code(
        "TPU704",
        "reinitialized-system",
        E,
        "the TPU system is initialized after something was built on it",
    ),
    Code(
        "TPU705",
        "cross-replica-call-in-step",
        E,
        "a method of the strategy that a replica cannot call, in the function given to run",
    ),
    Code(
        "TPU706",
        "eager-execution-on-tpu",
        E,
        "a TPUStrategy with run_eagerly=True or run_functions_eagerly(True)",
        (UNSAFE,),
    ),
    Code(
        "TPU707",
        "system-not-initialized",
        E,
        "a TPUStrategy that runs a step on a TPU system that nothing has initialized",
    ),
    Code(
        "TPU708",
        "loss-reduction-in-step",
        E,
        "a Keras loss that reduces by itself, called in a custom training step",
    ),
    Code(
        "TPU709",
        "embedding-misuse",
        E,
        "a TPUEmbedding that is made, fed or read where it cannot be",
        (UNSAFE,),
    ),
    Code(
        "TPU715",
        "function-of-lambda",
        E,
        "a tf.function made of a lambda that builds a TPU computation",
        (UNSAFE,),
    ),
    Code("TPU801", "no-such-api", E, "a name or keyword that the target TensorFlow does not have", (SAFE, UNSAFE)),
    Code("TPU802", "removed-api", E, "a name that the target TensorFlow removed or renamed", (SAFE, UNSAFE)),
)

CODES: dict[str, Code] = {row.code: row for row in _ROWS}
NAMES: dict[str, str] = {row.name: row.code for row in _ROWS}
# The rules about names alone: no program has to be read for them.
OF_NAMES = frozenset(code for code in CODES if code.startswith("TPU8"))


def codes_of(selector: str) -> frozenset[str]:
    """The codes that `selector` means: ALL, a code, the beginning of codes, or a rule's name."""
    named = NAMES.get(selector.lower())
    if named is not None:
        return frozenset((named,))
    start = "" if selector.upper() == "ALL" else selector.upper()
    return frozenset(code for code in CODES if code.startswith(start)) if selector else frozenset()
