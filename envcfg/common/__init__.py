"""Code that every room may use; it imports no room."""
