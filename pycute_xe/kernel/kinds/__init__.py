"""Kinds of kernels: arrangements of statements with a specification."""
