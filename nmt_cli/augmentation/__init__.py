"""Text from text: nmt augment."""
