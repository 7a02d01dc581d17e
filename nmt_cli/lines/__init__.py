"""Lines in, lines out: what is done with each, here, as a share of a file, or on a Ray cluster."""
