"""Exporters, a module for each format."""
