"""What a job asks of its scheduler, and its script."""
