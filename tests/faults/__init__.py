"""Faults as an input like any other: every operation on files fails, is cut short or never returns."""
