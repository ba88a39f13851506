"""What is told in chats and to webhooks besides Events (section 3.12)."""
