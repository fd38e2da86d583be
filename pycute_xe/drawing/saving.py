"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_files"]

Content = bytes | Callable[[BinaryIO], None]


def write_files(contents: Mapping[Path, Content]) -> None:
    """Write several files, each whole: first beside their destinations, then all renamed.

    A content is bytes or a function that writes to an open binary file. Folders that are missing
    are made. A device or pipe is written to directly. Raises `OSError`; then nothing is left of
    what could not be completed, and files that were there before are as they were.
    """
    made: list[Path] = []
    staged: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            # Through a link: the file it names is replaced, not the link.
            where = path.resolve()
            made += _make_folders(where.parent)
            if where.is_dir():
                raise IsADirectoryError(21, "Is a directory", str(path))
            if where.exists() and not where.is_file():
                with where.open("wb") as file:
                    _fill(file, content)
            else:
                staged.append((_stage(where, content), where))
        while staged:
            # Renamed last, when nothing but the renaming can fail any more.
            temporary, where = staged[0]
            temporary.replace(where)
            staged.pop(0)
    except BaseException:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        raise


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and its parents; return those that were missing, outermost first."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _stage(where: Path, content: Content) -> Path:
    """Write the content to a temporary file in the destination's folder."""
    if where.exists() and not os.access(where, os.W_OK):
        raise PermissionError(13, "Permission denied", str(where))
    try:
        handle, name = tempfile.mkstemp(dir=where.parent, prefix=f".{where.name}.", suffix=".part")
    except OSError as error:
        # The destination is what its user knows by name.
        raise OSError(error.errno, error.strerror, str(where)) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _fill(file, content)
        temporary.chmod(_mode(where))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _fill(file: BinaryIO, content: Content) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)


def _mode(where: Path) -> int:
    """The mode of the file that is there, or that a new file would get."""
    if where.exists():
        return where.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
