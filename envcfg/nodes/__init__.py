"""Questions to the nodes of a job, and the evaluation of the answers."""
