"""Who owns which fields, and how an applied configuration is merged with an object."""
