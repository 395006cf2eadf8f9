"""Generated programs that look for an outcome that must not happen."""
