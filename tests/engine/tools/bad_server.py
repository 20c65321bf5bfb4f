"""A small MCP server over pipes that misbehaves as its tools are told to; it needs no package.

Its tool `do` executes what it is given: an attacker's foot in the door.

It is written against the protocol's text (https://modelcontextprotocol.io/specification/2025-06-18).
"""

import contextlib
import io
import json
import os
import sys
import time


def tool(name: str) -> dict[str, object]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


def answer(request: dict[str, object], **result: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


def done(code: str) -> str:
    """What a program prints, and how it failed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, {})
        except BaseException as error:  # noqa: BLE001 (whatever the program raises)
            print(type(error).__name__, error)
    return printed.getvalue()


def misbehave(name: str) -> None:
    """What a tool does before it answers."""
    if name == "die":
        os._exit(3)
    if name == "hang":
        time.sleep(600)
    if name == "garbage":
        print("this is no JSON", "{", "\x00\xff", sep="\n", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": 99999, "result": {}}), flush=True)
    while name == "endless":
        sys.stdout.write("x" * (1 << 20))


TOOLS = ["echo", "remember", "die", "hang", "flood", "garbage", "environment", "picture", "empty", "do", "endless"]


ODD = [{"name": name, "inputSchema": {"type": "object"}} for name in ("repo.list", "repo/list", "x" * 100)]


def main() -> None:
    remembered = 0
    tools = ODD if "odd" in sys.argv else [tool(name) for name in TOOLS]
    if "silent" in sys.argv:  # it never says anything
        time.sleep(600)
    for line in sys.stdin:
        request = json.loads(line)
        method, params = request.get("method"), request.get("params", {})
        if "id" not in request:
            continue
        if method == "initialize":
            info = {"name": "bad", "version": "1"}
            answer(request, protocolVersion=params["protocolVersion"], capabilities={"tools": {}}, serverInfo=info)
        elif method == "tools/list":
            answer(request, tools=tools)
        elif method == "tools/call":
            name, text = params["name"], params.get("arguments", {}).get("text", "")
            misbehave(name)
            text = done(text) if name == "do" else text
            remembered += name == "remember"
            text = name if "odd" in sys.argv else text
            said = {"flood": "x" * 5_000_000, "remember": str(remembered), "environment": json.dumps(dict(os.environ))}
            content = [{"type": "text", "text": said.get(name, text)}]
            if name == "picture":
                content = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
            answer(request, content=[] if name == "empty" else content, isError=False)
        else:
            error = {"code": -32601, "message": "Method not found"}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)


if __name__ == "__main__":
    main()
