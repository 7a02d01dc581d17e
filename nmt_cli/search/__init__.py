"""From a source to its output: two engines behind one contract, and what asks them."""
