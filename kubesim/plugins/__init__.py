"""The server's own admission plugins: accounts, priorities, limits, protection of storage."""
