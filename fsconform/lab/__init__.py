"""A filesystem to practise on: the emulated lab, its presets and its mutants (docs/design.md, Labs).

One process speaks the FUSE kernel protocol on /dev/fuse; every mount is one emulated host, one store is their common
server. `emulation.Emulation` brings a lab up and down, `spec.parse_lab` reads what a `lab=` site says.
"""
