"""What is known of environment variables: names, meanings, values and who says so."""
