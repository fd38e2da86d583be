"""Floor 9: tiles of many work-groups in the place of registers, statement by statement."""
