"""What ``hang`` writes."""
