"""Base package: the order of the two halves of a TPU program, for the analyzer and the runtime.

The analyzer reads a program without running it, and asks with three values; the runtime has the
finished graph, and asks for what is sure. Both ask the same functions, over the small protocol
`OrderGraph`. Nothing here knows either half.
"""
