"""The formats of log lines, as data: one YAML file per part of the software."""
