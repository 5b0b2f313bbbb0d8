"""`tpulint run`: runs an unmodified TPU program on this CPU, and reports what crossed.

`command.py` starts a run, `session.py` holds it. `program.py` executes the program as Python would.
`failure.py` and `explain.py` lead from what it raised to the findings on its lines; `report.py` and
`page.py` are the report.
"""
