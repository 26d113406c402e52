"""The output of ``check-log``."""
