"""Files as summaries: typed nodes with ordinals instead of positions.

CPython's parser says whether a file is sound and where its functions' bodies are. What shows the
seam becomes libcst's tree, what is only followed from there CPython's; each is walked once, its
depth bounded (see `lowering`). A large body is read only when it is asked for. Rows and columns
are looked up only for what is reported. `summary_cache.py` keeps summaries by content; a broken
entry is dropped.
"""
