"""From YAML to the model of a profile."""
