"""`tpulint server`: the Language Server Protocol.

main             starts it: standard streams or TCP, and a clean end
language_server  what all features share: documents, projects, and when these are analyzed
documents        open documents and notebooks as bytes over the file system
project          one project's analysis
hints            code lenses and inlay hints; each of the other features has its own module

The event loop only takes in messages: each project waits for a pause in the typing, and one thread
(the worker) analyzes it. What an editor holds is laid over the disk as bytes by file name. A new
keystroke ends an analysis that is under way: `Cancelled` is raised at the next call that the
interpreter follows.
"""
