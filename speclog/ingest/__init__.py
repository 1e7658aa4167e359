"""From bytes to the store: lines, sessions, frames."""
