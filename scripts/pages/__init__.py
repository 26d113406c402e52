"""Pages of the docs that are written from data."""
