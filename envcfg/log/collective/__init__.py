"""Ranks that lag in a collective operation: watchdog lines, dumps and answers of RAS."""
