"""Job scripts under lint: the commands they run, the scope of each, and their faults."""
