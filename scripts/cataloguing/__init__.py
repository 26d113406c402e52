"""The catalogue of warnings, made from the sources that print them."""
