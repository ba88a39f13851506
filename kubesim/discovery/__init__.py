"""What the server says about itself: health, discovery, OpenAPI."""
