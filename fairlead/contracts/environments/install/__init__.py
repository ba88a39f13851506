"""The kinds of the environment contract, made from the types that the operator reads them with."""
