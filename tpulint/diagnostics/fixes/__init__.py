"""Edits that repair a fault: of a call, an argument, a decorator, a block."""
