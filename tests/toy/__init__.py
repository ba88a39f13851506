"""A contract of its own folder, as small as one can be: boxes that are painted in the colour of their spec."""
