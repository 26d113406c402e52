"""How large the project is, and what makes it hard to read."""
