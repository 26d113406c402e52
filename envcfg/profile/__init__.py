"""The needs of a system: the model, its YAML, its layers and its conditions."""
