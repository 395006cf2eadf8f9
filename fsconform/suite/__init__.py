"""The pytest face: one item per cell."""
