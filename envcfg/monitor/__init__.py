"""What the nodes of a running job say of themselves."""
