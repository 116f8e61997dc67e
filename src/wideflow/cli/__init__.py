"""The command line: one small function a command, each in a file of its name."""

from wideflow.cli.app import main

__all__ = ["main"]
