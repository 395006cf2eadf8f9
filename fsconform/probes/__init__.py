"""Designed experiments of fixed shape, one file per property family."""
