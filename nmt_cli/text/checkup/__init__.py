"""The data doctor: what is wrong with a corpus, where, and how much of it."""
