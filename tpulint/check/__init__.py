"""The way of a finding; `driver.py` has its order from top to bottom.

driver      each step, called once
request     what is asked for, and where; discover: the files; selection: those to report on
programs    the search of all bytes, and the programs among the files
analysis    the steps within one program
resolve     the findings that remain, and their text
executor    the processes that do the work; cluster: a Dask cluster in their place; editor: what a
            language server keeps between two checks
per_file    the findings of one file at a time, for flake8
"""
