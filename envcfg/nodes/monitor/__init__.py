"""The state of the nodes of a running job."""
