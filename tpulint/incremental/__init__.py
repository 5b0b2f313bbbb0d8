"""One incremental layer: results that are kept, with all that was asked of the disk to find them.

Four queries are answered: the facts of a file, what files import, the programs among the files of a
check, and the findings in a program. A result is good for as long as the disk answers the recorded
questions as it did. The command line keeps results in a database, the language server in memory;
machines of one team share those of programs; the workers of a cluster record the same questions.
"""
