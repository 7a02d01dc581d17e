"""Generators of the small corpora that come with nmt."""
