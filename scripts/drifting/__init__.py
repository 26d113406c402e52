"""What ``scripts/drift`` does: sources as coordinates, held against newer checkouts."""
