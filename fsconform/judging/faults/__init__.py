"""Whose fault it was, by kind of call: pure functions from recorded events and promises to findings."""
