"""What ``scripts/variables`` does: which release reads which variable, with its default."""
