"""What one job will do, and the bash that does it."""
