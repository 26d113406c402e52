"""Network use of a job, judged from its log: from lines to events, states and a verdict."""
