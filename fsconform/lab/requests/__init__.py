"""From bytes of the FUSE protocol to operations and back: one handler per opcode."""
