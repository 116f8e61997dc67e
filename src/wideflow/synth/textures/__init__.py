"""Colours and relief of surfaces, painted by noise."""
