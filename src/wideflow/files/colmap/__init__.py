"""COLMAP models, read and written without COLMAP."""
