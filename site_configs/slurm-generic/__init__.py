"""Any machine under Slurm: to copy and fill in."""
