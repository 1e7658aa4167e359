"""What a log line looks like, by engine: declared as data, read by one engine."""
