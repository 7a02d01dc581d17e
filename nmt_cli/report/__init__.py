"""Pictures of data, training and models: arrays and events -> PNG, SVG, HTML or the terminal."""
