"""Figures of docs/, drawn from the example logs."""
