"""Every key with its type and default, YAML with line numbers, and what `auto` becomes."""
