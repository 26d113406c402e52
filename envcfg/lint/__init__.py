"""Job scripts as people have them: what they do, in which scope, and what is wrong in them."""
