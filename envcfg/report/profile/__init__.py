"""The output of ``profiles``."""
