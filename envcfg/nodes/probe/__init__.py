"""One probe per node: its shell, the control of its step, its output."""
