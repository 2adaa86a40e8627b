"""Reports: pages, terminal, and exports for other programs."""
