"""What is known of a change before it is made: about definitions, live objects and the cluster."""
