"""Who asks, what they may, and what the server says about that."""
