"""Rays, surfaces and light."""
