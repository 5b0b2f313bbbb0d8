"""`tpulint server`: the Language Server Protocol, one feature a file.

main             starts it: standard streams or TCP, and a clean end
language_server  what all features share: documents, projects, the schedule
documents        open documents and notebooks as bytes over the file system
project          one project's analysis; worker and schedule: when it runs, and where

The event loop only takes in messages: the schedule decides when a project is analyzed, and one
thread (the worker) does it. What an editor holds is laid over the disk as bytes by file name. A new
keystroke ends an analysis that is under way: `Superseded` is raised at the next call that the
interpreter follows.
"""
