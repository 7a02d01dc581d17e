"""What lies in a folder of text: for `nmt init`."""
