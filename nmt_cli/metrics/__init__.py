"""How good outputs are, and how varied."""
