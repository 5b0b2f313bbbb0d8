"""Notebooks as Python text: `document.py` reads and writes the file, `cells.py` one cell of it.

`tpulint/run/program.py` runs their cells, and `tpulint/server/documents.py` puts together those
that an editor has open.
"""
