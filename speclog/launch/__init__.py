"""Profiles, manifest, supervision, workload."""
