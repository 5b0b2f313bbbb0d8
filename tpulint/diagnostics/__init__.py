"""Traces and fixes of findings, and which findings remain; nothing here knows a rule."""
