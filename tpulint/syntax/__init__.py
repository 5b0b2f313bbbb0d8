"""Files as summaries: typed nodes, made from CPython's tree.

CPython's parser says whether a file is sound. Its tree is walked once, to a bounded depth (see
`lowering`). A large body is lowered only when it is asked for (see `lazy_module`).
"""
