"""What a write of a kind, or of a part of one, may change, what it is given, and when it is refused."""
