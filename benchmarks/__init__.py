"""How fast envcfg is, as ratios to a peer in the same run; see README.md."""
