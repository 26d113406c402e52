"""What a preflight comes to, for people and for programs."""
