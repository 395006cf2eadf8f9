"""What runs inside a guest: the standard library only, Python >= 3.9, as the first process of a throw-away kernel."""
