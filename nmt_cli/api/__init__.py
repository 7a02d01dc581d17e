"""nmt as a library: what `import nmt_cli` gives, and what the commands call."""
