"""Machines that are not here, simulated by SimGrid."""
