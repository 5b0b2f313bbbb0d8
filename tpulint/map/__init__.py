"""`tpulint map`: the picture of what a file, or one of its functions, gives to a TPU.

`draw.py` chooses the computations of the file, `computation.py` maps one of them, and `pictures/`
draws a map. The reports of checks and runs draw theirs with `pictures/`, too, which is why it knows
nothing of the analysis.
"""
