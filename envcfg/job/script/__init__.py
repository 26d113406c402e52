"""The generated bash: its modules, and the lines for one job."""
