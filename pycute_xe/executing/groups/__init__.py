"""Floor 9: many work-groups at once, statement by statement, on registers gathered as maps say."""
