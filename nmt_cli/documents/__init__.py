"""Documents: what of a file is to be translated, and the file with translations in its place."""
