"""A resolved profile in detail: values, differences, uses."""
