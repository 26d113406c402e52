"""Records of container runtimes, starters, schedulers and launchers."""
