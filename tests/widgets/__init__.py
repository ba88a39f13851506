"""A contract of two API versions, as a part of ours has it: a Widget is a StatefulSet with a helper beside it."""
