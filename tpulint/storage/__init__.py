"""`gs://` from a directory, for programs under the emulator.

TensorFlow asks Google Cloud Storage with its own C++ code, over HTTPS. A server on loopback
answers in place of it: `process.py` starts and ends it, `proxy.py` takes its connections, `api.py`
answers the requests, `objects.py` keeps the objects. It is a process of its own: TensorFlow holds
the interpreter's lock while it waits for an answer.
"""
