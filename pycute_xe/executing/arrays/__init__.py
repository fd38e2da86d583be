"""Terms evaluated on whole arrays: the fast executor."""
