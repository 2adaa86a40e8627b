"""b_eff, the effective bandwidth benchmark."""
