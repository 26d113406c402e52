"""Whether the nodes of a job can do its work, before it begins."""
