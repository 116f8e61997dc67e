"""Wideflow: dense depth and dense 3D motion from two handheld videos."""

__version__ = "0.1.0"
