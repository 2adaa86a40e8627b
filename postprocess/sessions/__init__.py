"""Sessions of ReFrame: their reports and results database."""
