"""Malformed files for every reader: nothing but our own errors, no hang, no memory without measure."""
