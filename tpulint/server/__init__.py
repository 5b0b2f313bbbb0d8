"""`tpulint server`: the Language Server Protocol.

main             starts it: standard streams or TCP, and a clean end
language_server  what all features share: documents, projects, the schedule
documents        open documents and notebooks as bytes over the file system
project          one project's analysis; schedule: when it runs, and where
hints            code lenses and inlay hints; each of the other features has its own module

The event loop only takes in messages: the schedule decides when a project is analyzed, and one
thread (the worker) does it. What an editor holds is laid over the disk as bytes by file name. A new
keystroke ends an analysis that is under way: `Superseded` is raised at the next call that the
interpreter follows.
"""
