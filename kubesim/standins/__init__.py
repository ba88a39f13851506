"""Controllers and services of others that the five contracts count on, as far as they count on them."""
