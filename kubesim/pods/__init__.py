"""What pods have and other kinds have not: behaviour, logs, bindings, evictions, short ways for their many writes."""
