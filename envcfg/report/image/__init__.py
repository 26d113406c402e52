"""What is in an image, as text and JSON."""
