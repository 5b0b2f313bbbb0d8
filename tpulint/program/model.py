"""The program as rules see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Program:
    """What runs where, and what it touches."""
