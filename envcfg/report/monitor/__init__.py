"""What ``monitor`` writes."""
