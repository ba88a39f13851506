"""Which objects of built-in kinds are refused, and what is warned of."""
