"""From the state of a job to its verdict, the cause of its end, and the next step."""
