"""Where objects are kept: their versions, the history of these, and those who watch."""
