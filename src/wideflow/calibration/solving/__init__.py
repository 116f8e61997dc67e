"""Cameras and points that explain the sightings: each moment first, then one world, then every frame."""
