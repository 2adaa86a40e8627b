"""Reference values: proposals and the gate that they pass."""
