"""The state of a job: its processes, its world, and what each line adds to it."""
