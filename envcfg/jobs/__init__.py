"""Many jobs: their logs, the scheduler's accounting, and the store of both."""
