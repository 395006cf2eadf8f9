"""Filesystems to practise on: emulated (well-behaved or lying) and real."""
