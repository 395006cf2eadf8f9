"""Workers: launched, started together, watched, killed and replaced."""
