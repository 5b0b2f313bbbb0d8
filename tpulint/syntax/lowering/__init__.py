"""From a tree to the summary language, in one walk in source order.

One method per kind of node of CPython's tree. `scopes.py` holds the state of the walk,
`definitions.py` the names that are bound and the functions and classes that are defined.
"""
