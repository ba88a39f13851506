"""From a wish to a stored version: patches, parts of objects, admission, deletion."""
