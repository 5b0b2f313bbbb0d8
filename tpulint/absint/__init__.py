"""An abstract interpreter of Python: abstract values stand for real ones, and it knows no library.

`domain` holds the values, contexts and events of a program, `resolver` finds the file that an
import means, `interpreter` reads modules and functions. What a library gives a meaning of its own
a front end says (`interpreter.frame.Library`, `frontends`).
"""
