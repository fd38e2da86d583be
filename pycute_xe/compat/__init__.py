"""The names of other libraries, for code that was written for them."""
