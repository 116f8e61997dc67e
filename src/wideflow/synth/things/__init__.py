"""What stands and moves in a place: meshes with materials."""
