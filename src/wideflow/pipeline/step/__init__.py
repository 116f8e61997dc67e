"""The one time step: its stages, their order, and what they hand on to each other."""
