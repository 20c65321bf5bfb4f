"""trackio's own server, run where trackio is installed. It prints its port and its token."""

# mypy: ignore-errors
# trackio is not installed beside this repository.

import socket

import uvicorn
from trackio.server import make_trackio_server

made = make_trackio_server()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], made.write_token, flush=True)
uvicorn.run(made.app, fd=listener.fileno(), log_level="error", access_log=False)
