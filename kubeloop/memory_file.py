"""What a library reads from files only, without a file: a container may have no folder that can be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """A path under which the content can be read for a moment, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("fairlead")
        try:
            os.fchmod(descriptor, 0o600)
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:  # that nobody else can read
            file.write(content)
            file.flush()
            yield file.name
