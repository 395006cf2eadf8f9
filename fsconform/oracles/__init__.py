"""Pure functions from a history to what it shows; each has a brute-force twin in the tests."""
