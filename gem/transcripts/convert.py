"""Reads a file of another program, confined, and writes what is in it: `python -m gem.transcripts.convert FILE`.

The first line is the header, every other one a transcript; or one line with the field `refused`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gem.errors import InvalidData
from gem.transcripts.files import read


def main() -> int:
    """Convert the file that is named in the arguments."""
    try:
        header, transcripts = read(Path(sys.argv[1]))
        sys.stdout.write(f"{header.model_dump_json()}\n")
        for transcript in transcripts:
            sys.stdout.write(f"{transcript.model_dump_json()}\n")
    except (InvalidData, OSError, MemoryError) as error:
        sys.stdout.write(f"{json.dumps({'refused': str(error) or 'The file needs more memory than there is.'})}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
