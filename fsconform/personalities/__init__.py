"""The file protocols of real stores, one file per store."""
