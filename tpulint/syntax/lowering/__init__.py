"""From a tree to the summary language, in one walk in source order.

libcst's tree and CPython's have a walk each, one method a kind of node; both make the same summary
of the same text. What they share is in `scopes.py` and `definitions.py`.
"""
