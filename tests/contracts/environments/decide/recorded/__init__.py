"""Objects with their hashes and conversions as each release made them, one file per release.

A hash that came out differently would roll out every environment whose operator is upgraded, so a file is never changed
once its release is out. Before that, delete it and write it again when the set of objects has grown:

    python -m tests.contracts.environments.decide.recorded.record
"""
