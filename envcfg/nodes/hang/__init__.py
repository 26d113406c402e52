"""The processes of a silent job on all its nodes at one moment, and the lagging ranks."""
