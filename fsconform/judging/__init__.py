"""What a filesystem promises (profiles), and whether an observation keeps it (judgement)."""
