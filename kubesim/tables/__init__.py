"""Objects as rows of a table, as `kubectl get` shows them: the columns of every kind, and their cells."""
