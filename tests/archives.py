"""Archives of policies, as people make them who upload one."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO


def pack(folder: Path, file: IO[bytes], name: str) -> None:
    """Write the files of a folder as a zip archive, in which they are in a folder called `name`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as bundle:
        for path in sorted(folder.iterdir()):
            bundle.write(path, f"{name}/{path.name}")
