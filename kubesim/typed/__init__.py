"""Trees of built-in kinds as Go's types read and write them."""
