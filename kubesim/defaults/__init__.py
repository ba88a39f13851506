"""What the server fills in where an object says nothing."""
