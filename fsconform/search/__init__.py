"""Generated programs looking for an outcome that must not happen, and what is made of a find."""
