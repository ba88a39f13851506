"""What a conversion rule does to the body of an object: one function for each operation, and its way back."""
