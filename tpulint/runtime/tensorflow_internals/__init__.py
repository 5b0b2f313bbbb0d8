"""TensorFlow's private modules and what all of the runtime does with them.

Differences between the supported releases (2.12 to the newest) are handled here.
"""
