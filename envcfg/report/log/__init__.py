"""What ``check-log`` writes."""
