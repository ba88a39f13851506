"""From a request to its answer: paths, parameters, lists, watches, forms."""
