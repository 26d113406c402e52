"""From an existing job script to one that starts its steps with envcfg."""
