"""What is wrong with a text, where, and how much of it: for `nmt check`."""
