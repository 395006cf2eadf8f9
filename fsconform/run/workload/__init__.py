"""Replaying the file patterns of real engines over sites, and judging what came of it."""
