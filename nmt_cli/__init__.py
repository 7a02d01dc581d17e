"""nmt: train, use and understand Transformers for translation and chat from the command line."""

__version__ = "0.1.0"
