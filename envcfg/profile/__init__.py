"""What a system needs: the model, its YAML, its layers and its conditions."""
