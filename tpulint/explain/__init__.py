"""`tpulint explain`: what the analysis saw in a file, or at one of its lines, and why it is silent.

`account.py` is the way through it, and says how the file came into the analysis. `events.py`
observes the interpreter and the rules; `explanation.py` is what is shown.
"""
