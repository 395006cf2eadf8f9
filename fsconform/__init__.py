"""fsconform: what several clients see of each other on one shared filesystem, and whether that is what it promises."""

__version__ = "0.1.0"
