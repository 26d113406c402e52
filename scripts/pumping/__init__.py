"""Hostile texts for every regular expression: which of them take long, and how long."""
