"""What is sent to the other side: standard library only, Python >= 3.9, joined into one source when sent."""
