"""Floor 7: kinds of kernels: arrangements of statements with a specification."""
