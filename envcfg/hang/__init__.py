"""What the processes of a silent job do, on all its nodes at one moment, and who lags."""
