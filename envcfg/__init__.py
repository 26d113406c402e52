"""From a container and a command to a correct multi-node job."""

__version__ = "0.1.0"
