"""Names of TensorFlow's API, checked by spelling and apart from any program.

A search of the bytes finds the dotted names, a table says which releases have them, and only a file
with one that is missing is parsed, with CPython's own parser.
"""
