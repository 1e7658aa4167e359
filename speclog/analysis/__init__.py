"""Levels, break-even, fairness, attribution, plan: numbers in, frames out; no I/O."""
