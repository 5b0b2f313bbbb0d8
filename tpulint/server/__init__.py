"""`tpulint server`: the Language Server Protocol, one feature a file.

main             starts it: standard streams or TCP, and a clean end
language_server  what all features share: documents, projects, the schedule
documents        open documents and notebooks as bytes over the file system
project          one project's analysis; worker and schedule: when it runs, and where
"""
