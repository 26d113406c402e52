"""From a job script that somebody has to one that starts its steps by envcfg."""
