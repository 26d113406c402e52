"""A resolved profile, looked at: values, differences, uses."""
