"""One module per subcommand: options in, one call into the rooms, results to the console."""
