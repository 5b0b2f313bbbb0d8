"""Reading a program as Python would run it, with abstract values in place of real ones."""
