"""One probe on each node: what it runs, how its step is kept in hand, what it says."""
