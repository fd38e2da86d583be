"""Floor 8: what is held: by each register slot and memory element at each statement, as maps."""
