"""The way of a finding; `driver.py` has its order from top to bottom.

driver            each step, called once; executor: where a step runs, and what is known already
task, discover    the files; prefilter, programs, sources, summarize, rule_run, resolve, render:
                  the other steps
batch, analysis   the units of work, and their findings; check_result, failure: the end of a check
run_cache         findings of whole checks on disk, which edits_beside finds again after edits that
                  no program can see; kept_programs: those of each program, with what it depends on
                  (program_inputs), and in a shared_cache for other machines; kept_signs: what each
                  file shows (file_signs); kept_division: which programs there are; both in a
                  kept_entry, which each check leaves to the next
warm              what a server keeps between two checks: the prefilter's results, the import graph,
                  summaries and findings. A keystroke costs the parse of one body and the programs
                  that reach the file; of a large one, the entry points that reach the file come
                  first (warm_programs)
"""
