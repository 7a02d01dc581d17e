"""What a person at a terminal sees and types: the console, prompts, views, logs of chats."""
