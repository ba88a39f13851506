"""What webhooks and policies have to say about a write."""
