"""What a kernel should compute, in index notation."""
