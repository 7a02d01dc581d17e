"""Models of others -> bundles: one small file for each family of them."""
