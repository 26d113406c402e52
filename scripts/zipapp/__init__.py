"""Make of envcfg and all that it needs one file that any Python from 3.10 on runs."""
