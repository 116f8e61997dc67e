"""What a phone does to a scene: lenses, hands, exposure, colours."""
