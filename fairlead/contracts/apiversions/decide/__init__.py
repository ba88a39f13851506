"""Pure: objects, rules and schemas in, objects out."""
