"""What each task does in its own way: a file a task, and what they have in common."""
