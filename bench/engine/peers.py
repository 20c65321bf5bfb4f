"""The peers: a virtual environment of their own, and processes that measure in it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE.parent / "peers.txt"
WORDS = HERE.parents[1] / "gem" / "data" / "words"


class PeerError(Exception):
    """A peer could not do what was asked; the message is its own."""


def cache_folder() -> Path:
    """Where the peers are installed, unless told: a folder for this Python and these versions."""
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gemweb" / f"peers-{key}"


def install(folder: Path) -> tuple[Path, dict[str, str]]:
    """Install what is not there yet; the interpreter, and for each peer that cannot be installed why not."""
    python = folder / "bin" / "python"
    made = "" if python.exists() else _run([sys.executable, "-m", "venv", str(folder)])
    missing = {}
    for line in REQUIREMENTS.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *line.split()]
        failed = made or _run(pip)
        if failed:
            missing[line.partition("==")[0]] = failed
    return python, missing


def _run(command: list[str]) -> str:
    """Why the command failed, in its last line; empty if it did not."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (done.stderr or done.stdout or f"{command[2]} failed").strip().splitlines()[-1]


def word_lists(python: Path, folder: Path) -> str:
    """Give GEM the word lists that it downloads; which ones it got, in words."""
    corpus = folder / "nltk_data" / "corpora" / "words"
    marker = corpus / "from-nltk"
    if not corpus.is_dir():
        fetch = f"import nltk, sys; sys.exit(not nltk.download('words', download_dir={str(folder / 'nltk_data')!r}))"
        if subprocess.run([str(python), "-c", fetch], capture_output=True, check=False).returncode == 0:
            marker.parent.mkdir(exist_ok=True)
            marker.touch()
        else:
            corpus.mkdir(parents=True)
            (corpus / "en").write_text((WORDS / "words.txt").read_text())
            (corpus / "en-basic").write_text((WORDS / "common.txt").read_text())
    return "NLTK's own" if marker.exists() else "ours, because NLTK's cannot be fetched here"


class Worker:
    """A process that measures one library (see `bench.engine.worker`)."""

    def __init__(self, side: str, python: Path, folder: Path) -> None:
        environment = {**os.environ, "NLTK_DATA": str(folder / "nltk_data"), "PYTHONHASHSEED": "0"}
        environment.pop("PYTHONPATH", None)
        self.side = side
        self.process = subprocess.Popen(
            [str(python), "-P", str(HERE / "worker.py"), side],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )

    def ask(self, verb: str, **arguments: Any) -> Any:
        """The side's answer.

        Raises:
            PeerError: if it raised, or its process ended.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps([verb, arguments]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"{self.side} cannot be started")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer["ok"]

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
