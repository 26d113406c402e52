"""Changes that a test should notice: where they can be made, and whether one does."""
