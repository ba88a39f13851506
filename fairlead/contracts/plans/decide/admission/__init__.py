"""What may be stored (section 3.16): defaults, rules of a plan, and what may change while it runs; pure."""
