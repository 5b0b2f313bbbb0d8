"""The operators: which fault each seeds, at which kind of site, and the codes that name it.

A template is Python in which TF, TENSOR and STRATEGY are the site's own names. `insert` puts it
before the site's statement; otherwise it takes the place of its expression, ARGS being the first
argument of that, or is a keyword of the call. An empty one deletes the site's lines.
"""

from __future__ import annotations

from dataclasses import dataclass

HOST = "TF.compat.v1.tpu.outside_compilation"
DEVICE = ("spec", "step")
IN_FUNCTIONS = ("step",)  # under tf.function the inner of two clusters wins


@dataclass(frozen=True)
class Operator:
    """One way to break a program.

    The fault happens on every run that reaches the TPU path, so that the finding ought to be
    definite, except at the kinds of site in `sometimes`.
    """

    name: str
    codes: tuple[str, ...]
    kinds: tuple[str, ...]
    template: str
    insert: bool = True
    sometimes: tuple[str, ...] = ()


def inserted(
    name: str, code: str, template: str, *more: str, sometimes: tuple[str, ...] = ()
) -> Operator:
    """Return an operator for device code of either kind."""
    return Operator(name, (code, *more), DEVICE, template, sometimes=sometimes)


OPERATORS = (
    Operator(
        "both sides read a variable",
        ("TPU101",),
        ("spec",),
        "seeded = TF.compat.v1.get_variable('seeded', [], use_resource=True)\n"
        f"TENSOR = TENSOR + {HOST}(lambda v: v + seeded, TENSOR) + seeded\n",
    ),
    Operator(
        "a cluster reads the global step",
        ("TPU105", "TPU101"),
        ("train spec",),
        "def seeded_host(v):\n"
        "  return v + TF.cast(TF.compat.v1.train.get_or_create_global_step(), TF.float32)\n"
        f"TENSOR = TENSOR + {HOST}(seeded_host, TENSOR)\n",
    ),
    Operator(
        "a variable made in the step",
        ("TPU104",),
        ("step",),
        "seeded = TF.Variable(1.0)\nTENSOR = TENSOR + seeded\n",
    ),
    inserted(
        "a cluster in a cluster",
        "TPU201",
        f"TENSOR = TENSOR + {HOST}(lambda v: {HOST}(lambda w: w, v), TENSOR)\n",
        sometimes=IN_FUNCTIONS,
    ),
    inserted(
        "a cluster in a cluster, by a helper",
        "TPU201",
        "def seeded_inner(v):\n"
        f"  return {HOST}(lambda w: w + 1.0, v)\n"
        "def seeded_outer(v):\n"
        "  return seeded_inner(v)\n"
        f"TENSOR = TENSOR + {HOST}(seeded_outer, TENSOR)\n",
        sometimes=IN_FUNCTIONS,
    ),
    inserted(
        "a computation in the computation",
        "TPU202",
        "TF.compat.v1.tpu.replicate(lambda v: v, [[TENSOR]])\n",
    ),
    inserted(
        "a function called where it is passed",
        "TPU205",
        f"def seeded_host(v):\n  return v * 2.0\n{HOST}(seeded_host(TENSOR))\n",
    ),
    inserted(
        "a tensor leaves its cluster by a list",
        "TPU207",
        "seeded = []\n"
        f"{HOST}(lambda v: seeded.append(v * 2.0), TENSOR)\n"
        "TENSOR = TENSOR + seeded[0]\n",
    ),
    inserted(
        "a cluster function without parameters",
        "TPU208",
        f"TENSOR = TENSOR + {HOST}(lambda: 1.0, TENSOR)\n",
    ),
    inserted(
        "a cluster under init_scope",
        "TPU302",
        f"with TF.init_scope():\n  {HOST}(lambda: TF.constant(1.0))\n",
    ),
    inserted(
        "a tensor leaves its loop by a list",
        "TPU303",
        "seeded = []\n"
        "def seeded_body(i):\n"
        "  seeded.append(i + 1.0)\n"
        "  return [i + 1.0]\n"
        "TF.while_loop(lambda i: i < 3.0, seeded_body, [TF.constant(0.0)])\n"
        "TENSOR = TENSOR + seeded[0]\n",
    ),
    inserted(
        "a sum that some replicas reach",
        "TPU306",
        "TENSOR = TF.cond(TENSOR > 0.5, lambda: TF.compat.v1.tpu.cross_replica_sum(TENSOR),"
        " lambda: TENSOR)\n",
        "TPU305",
        sometimes=DEVICE,
    ),
    inserted(
        "a Python function on the device",
        "TPU501",
        "TENSOR = TENSOR + TF.compat.v1.py_func(lambda v: v, [TENSOR], TF.float32)\n",
    ),
    inserted(
        "strings on the device",
        "TPU501",
        "TENSOR = TENSOR + TF.strings.to_number(TF.strings.as_string(TENSOR))\n",
    ),
    inserted(
        "a shape that depends on data",
        "TPU502",
        "TENSOR = TENSOR + TF.reduce_sum(TF.zeros([TF.cast(TENSOR, TF.int32)]))\n",
    ),
    inserted(
        "a TensorArray that grows",
        "TPU503",
        "seeded = TF.TensorArray(TF.float32, size=0, dynamic_size=True)\n"
        "TENSOR = TENSOR + TF.reduce_sum(seeded.write(0, TENSOR).stack())\n",
    ),
    Operator("print", ("TPU506",), ("step",), "print('loss', TENSOR)\n"),
    inserted("the value of a tensor", "TPU507", "seeded = TENSOR.numpy()\n"),
    inserted(
        "a misspelt name", "TPU801", "TF.compat.v1.tpu.outside_compile(lambda v: v, TENSOR)\n"
    ),
    Operator(
        "a host_call that captures",
        ("TPU601",),
        ("spec call",),
        "host_call=(lambda seeded: TENSOR + seeded, [TF.reshape(TENSOR, [1])])",
        insert=False,
    ),
    Operator(
        "a host_call of another arity",
        ("TPU602",),
        ("spec call",),
        "host_call=(lambda one, two: one, [TF.reshape(TENSOR, [1])])",
        insert=False,
    ),
    Operator(
        "a scalar for host_call",
        ("TPU603",),
        ("split spec call",),
        "host_call=(lambda seeded: seeded, [TF.reduce_mean(TENSOR)])",
        insert=False,
        sometimes=("split spec call",),  # not where every core gets the same input
    ),
    Operator("an optimizer that sums nothing", ("TPU604",), ("cross shard",), "ARGS", insert=False),
    Operator(
        "a smaller last batch",
        ("TPU605",),
        ("drop remainder",),
        "False",
        insert=False,
        sometimes=("drop remainder",),
    ),
    Operator(
        "a reserved parameter",
        ("TPU606",),
        ("estimator",),
        "params=dict(PARAMS, batch_size=8)",
        insert=False,
    ),
    Operator(
        "a step that runs eagerly",
        ("TPU701",),
        ("compiled loop",),
        "",
        insert=False,
        sometimes=("compiled loop",),
    ),
    Operator(
        "a scope in the step",
        ("TPU703",),
        ("nested step",),
        "with STRATEGY.scope():\n  TENSOR = TENSOR + 1.0\n",
    ),
    Operator(
        "a reduction in the step",
        ("TPU705",),
        ("nested step",),
        "STRATEGY.reduce('SUM', TENSOR, axis=None)\n",
    ),
)
