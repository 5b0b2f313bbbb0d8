"""tpulint knows the seam between the two programs of a TPU program: device and host."""

__version__ = "0.1.0"
