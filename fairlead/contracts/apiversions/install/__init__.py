"""How an operator of API versions is installed."""
