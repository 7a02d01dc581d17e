"""The Transformer: layers, encoder, decoder, and its weights as named arrays."""

LAYER_NORM_EPSILON = 1e-6  # of layers.py and, without TensorFlow, of ctranslate2_form.py
