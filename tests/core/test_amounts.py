"""How many of something, as people write it."""

from __future__ import annotations

import pytest

from fairlead.core.amounts import counted


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 objects are"), (1, "1 object is"), (2, "2 objects are")], ids=["none", "one", "two"]
)
def test_one_is_not_several(count: int, text: str) -> None:
    assert counted(count, "object is", "objects are") == text
    assert counted(count, "file") == (f"{count} file" if count == 1 else f"{count} files")
