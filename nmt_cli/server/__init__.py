"""Models on the network: three dialects that existing clients speak, and a page for people."""
