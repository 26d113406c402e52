"""Knowledge about environment variables: names, meanings, values and sources."""
