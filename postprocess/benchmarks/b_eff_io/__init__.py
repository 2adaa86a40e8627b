"""b_eff_io, the effective I/O bandwidth benchmark."""
