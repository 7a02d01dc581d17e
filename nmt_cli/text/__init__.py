"""From files of text to batches of token ids. No TensorFlow here."""
