"""Schemas of custom resources, as the API server reads them."""
