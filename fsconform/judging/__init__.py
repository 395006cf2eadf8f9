"""Profiles, and how a promise and an observation become a verdict."""
