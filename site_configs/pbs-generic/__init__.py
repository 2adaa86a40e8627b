"""Any machine under PBS: to copy and fill in."""
