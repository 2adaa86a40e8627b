"""The machine at hand."""
