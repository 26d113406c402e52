"""What a job's log says of its network: from lines to events, states and a verdict."""
