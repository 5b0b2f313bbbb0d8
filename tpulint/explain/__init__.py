"""`tpulint explain`: what the analysis saw in a file, or at one of its lines, and why it is silent.

`account.py` is the way through it. `events.py` observes the interpreter, `rules.py` the rules,
`way_in.py` how the file came into the analysis; `explanation.py` is what is shown.
"""
