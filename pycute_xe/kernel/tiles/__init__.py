"""How tiles lie in the registers of subgroups, which kinds and the builder share."""
