"""The steps of a video as tasks: planned, done here or by many machines, and taken up again."""
