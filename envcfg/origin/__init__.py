"""Profiles from elsewhere: addresses, what is fetched from there, and where it is kept."""
