"""What goes wrong by order: a language for it, and those who carry it out."""
