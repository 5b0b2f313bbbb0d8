"""Sites: the places of operations in a program, one for each call of the function around them.

The operations of one function body are in the program as often as the function is called. A site
names one of these occurrences by the path that leads there from the computation's own operations.
"""

from __future__ import annotations

RegionSite = tuple[str | int, ...]
"""The names of the calls, loops and conditionals around an operation, outermost first, each with
the number of its body that holds the next one, and the operation's own name."""

Iteration = tuple[int, ...]
"""The number of rounds that each of the loops around has made before, outermost first."""
