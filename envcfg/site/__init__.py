"""Facts that a system reports about itself, and profile entries made from them."""
