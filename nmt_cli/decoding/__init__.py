"""From a trained model and lines of text to translations and replies."""
