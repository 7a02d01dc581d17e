"""The training loop and its parts: schedule, loss, optimizer, checkpoints, data feed."""
