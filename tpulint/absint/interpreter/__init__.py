"""Reading a program as Python would run it, with abstract values in place of real ones.

A session (`session.py`) is one reading of a program: budgets, and the identity of variables. A
frame (`frame.py`) is one call: names, context, results; expressions, statements and calls reach
each other through it, so their files import one way. A context is the tuple of scopes around a
place, outermost first, entered by `with frame.within(scope):`. An unknown is a value too:
`UNKNOWN`, or an `Opaque` that keeps its identity; no rule is definite on either. The models of
library calls are injected (`Library` in `frame.py`).
"""
