"""What is held: by each register slot and memory element at each statement, as maps."""
