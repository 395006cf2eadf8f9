"""What is sent to the other side: small standard-library modules for Python >= 3.9 (see `fleet.source`)."""
