"""Files and trees of files: which of them hold manifests, and writing them whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlead.engine.object_files import UnreadableFile

EXTENSIONS = (".yaml", ".yml", ".json")


def files_in(name: str, extensions: Sequence[str]) -> Iterator[Path]:
    """The file itself, or those of a folder in their order, without hidden ones; raises UnreadableFile."""
    path = Path(name)
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise UnreadableFile(f"{name} is neither a file nor a folder: correct the path")
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        shown = sorted(each for each in names if not each.startswith("."))
        yield from (Path(folder, each) for each in shown if each.endswith(tuple(extensions)))


def text_of(path: Path) -> str:
    """Line breaks as they are; raises UnreadableFile."""
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path} is not text in UTF-8: leave it out, or say --extensions") from None


def write_whole(path: Path, text: str) -> None:
    """The file holds the new text or still the old one, with the same mode; a link stays one. Raises UnreadableFile."""
    target = path.resolve()
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(target.stat().st_mode & 0o7777)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise UnreadableFile(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
