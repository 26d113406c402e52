"""The contents of an image: its files are read in place, and its facts derived from
them."""
