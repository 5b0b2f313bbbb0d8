"""Files as summaries: typed nodes with ordinals instead of positions.

libcst parses a module and each tree is walked once, its depth bounded. CPython's parser, ten times
as fast, first says whether the file is sound and where its functions' bodies are; a large body
becomes a tree only when it is asked for. Rows and columns are looked up only for what is
reported. `summary_cache.py` keeps summaries by content; a broken entry is dropped.
"""
