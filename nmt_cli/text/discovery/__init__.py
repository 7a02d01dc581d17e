"""What lies in a folder that nobody prepared, found out by names and content."""
