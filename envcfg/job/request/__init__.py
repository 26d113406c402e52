"""The request of a job to its scheduler, and its script."""
