"""Following a live log: read what is new, keep the last windows, show them against a stored baseline."""
