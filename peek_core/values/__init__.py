"""Frozen values that travel between the parts. Standard library only; nothing here does I/O."""
