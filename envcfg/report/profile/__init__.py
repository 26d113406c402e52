"""What ``profiles`` writes."""
