"""One run: preflight, plan, one window, the run directory."""
