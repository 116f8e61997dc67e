"""What the pictures show: key moments, and points matched between the cameras and followed over time."""
