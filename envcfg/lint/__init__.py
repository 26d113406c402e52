"""What job scripts do, in which scope, and what is wrong in them."""
