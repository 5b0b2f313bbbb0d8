"""Seed faults into real programs, and count which of them `tpulint check` finds."""
