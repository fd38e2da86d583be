"""Floor 7: what a kernel should compute, in index notation."""
