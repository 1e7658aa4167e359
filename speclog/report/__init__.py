"""Charts (Altair) and pages (Jinja2)."""
