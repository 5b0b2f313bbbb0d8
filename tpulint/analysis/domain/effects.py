"""Effects of `with` blocks, and of calls that are entered like one, on the code in them."""

from __future__ import annotations

# Effects that change the control-flow context (the others only add to what is there).
CLEARS = "clears control flow"
INIT_SCOPE = "init_scope"
CONTROL = "control flow context"
SCOPE = "strategy scope"
DEPENDENCIES = "control_dependencies"
GRAPH = "graph"
DEVICE = "device"
VARIABLE_SCOPE = "variable_scope"
STACK = "exit stack"
UNSEEN = "a context that is not seen"
DECORATED = "a decorator that is not seen"
OTHER_STRATEGY = "another strategy"
AFTER_RETURN = "the rest after a return on a tensor"  # conversion makes a branch of it
CROSS_REPLICA = "the cross-replica context of merge_call"
# Around code where a traced function converts Python's control flow to operations, or leaves it.
CONVERTED = "converted control flow"
UNCONVERTED = "control flow that stays Python's"
