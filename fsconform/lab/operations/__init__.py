"""What the emulated server does for its clients: correct local semantics, one replaceable callable per operation."""
