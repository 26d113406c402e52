"""Detectors of faults, by the groups of their rules."""
