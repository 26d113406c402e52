"""What looks for each rule, by the groups of the rules."""
