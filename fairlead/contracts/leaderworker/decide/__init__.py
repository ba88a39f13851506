"""What is decided about sets, groups and their pods."""
