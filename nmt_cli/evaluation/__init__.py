"""Scores of outputs and labels, and what measures models with them."""
