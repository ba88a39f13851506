"""Which objects a list or a watch means."""
