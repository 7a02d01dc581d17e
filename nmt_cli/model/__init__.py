"""The Transformer: layers, encoder, decoder, and its weights as named arrays."""
