"""One module per subcommand: read the options, call the core, hand to the report."""
