"""A small hub on loopback, which answers what `huggingface_hub` asks for a dataset and can break a connection."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OLD, NEW = "a" * 40, "b" * 40


class Hub:
    """Repositories in memory: name to commit to file name to content; the last commit is main."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, dict[str, bytes]]] = {}
        self.fetched: list[str] = []
        self.break_after: int | None = None
        """Bytes of a file that are sent before the connection breaks, once."""
        self.server = _Server(self)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def commit(self, repository: str, revision: str) -> str | None:
        """The commit that a revision names."""
        commits = self.repositories.get(repository, {})
        return list(commits)[-1] if revision == "main" and commits else revision if revision in commits else None


class _Server(ThreadingHTTPServer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    @property
    def hub(self) -> Hub:
        return self.server.hub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/datasets/"):
            self._info(path.removeprefix("/api/datasets/"))
        elif path.startswith("/datasets/") and "/resolve/" in path:
            repository, _, rest = path.removeprefix("/datasets/").partition("/resolve/")
            revision, _, name = rest.partition("/")
            self._file(repository, revision, name, body=body)
        else:
            self._missing("EntryNotFound")

    def _info(self, path: str) -> None:
        repository, _, revision = path.partition("/revision/")
        if repository not in self.hub.repositories:
            return self._missing("RepoNotFound")
        commit = self.hub.commit(repository, revision or "main")
        if commit is None:
            return self._missing("RevisionNotFound")
        files = self.hub.repositories[repository][commit]
        siblings = [{"rfilename": name} for name in files]
        return self._send(200, json.dumps({"id": repository, "sha": commit, "siblings": siblings}).encode(), {})

    def _file(self, repository: str, revision: str, name: str, *, body: bool) -> None:
        commit = self.hub.commit(repository, revision)
        content = self.hub.repositories.get(repository, {}).get(commit or "", {}).get(name)
        if content is None:
            return self._missing("EntryNotFound")
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": str(commit)}
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        headers["Accept-Ranges"] = "bytes"
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if body:
            self.hub.fetched.append(f"{name} from {start}")
        return self._send(206 if start else 200, content[start:], headers, body=body)

    def _send(self, status: int, content: bytes, headers: dict[str, str], *, body: bool = True) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if not body:
            return
        if self.hub.break_after is not None and "ETag" in headers:
            self.wfile.write(content[: self.hub.break_after])
            self.hub.break_after = None
            self.close_connection = True
            return
        self.wfile.write(content)

    def _missing(self, code: str) -> None:
        self._send(404, b"{}", {"X-Error-Code": code, "X-Error-Message": f"There is no {self.path}"})
