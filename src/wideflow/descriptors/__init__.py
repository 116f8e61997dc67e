"""DAISY descriptors and their distance: what matching compares pixels by."""
