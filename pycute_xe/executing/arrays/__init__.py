"""Floor 9: terms evaluated on whole arrays: the fast executor."""
