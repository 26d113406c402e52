"""What a machine says of itself, and the entries of a profile that this makes."""
