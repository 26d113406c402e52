"""One job: its plan, its request to the scheduler, and its bash."""
