"""What is in an image: its files read where they lie, and the facts that they show."""
