"""Commands of MCP servers are confined, and may use what those who run the site allowed them."""

import json
import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gem.errors import InvalidArgument, ToolError
from gem.sandbox import process_confinement
from gem.sandbox.inside.proxy import is_allowed
from gem.sandbox.process_confinement import Confinement
from gem.tools.mcp.config import registered_servers
from gem.tools.mcp_tool import MCPTool
from tests.engine.tools.servers import BAD_SERVER, installed
from tests.packages import skip_without

skip_without("mcp")

PYTHON = sys.executable


@pytest.fixture(autouse=True)
def _confinement() -> None:
    if process_confinement.obstacle():
        pytest.skip(process_confinement.obstacle())


Made = Callable[..., MCPTool]


@pytest.fixture
def made() -> Iterator[Made]:
    """Makes a tool with the server that does what it is told, allowed what is given."""
    tools: list[MCPTool] = []

    def make(may: Any = True, **more: Any) -> MCPTool:
        config = {"command": PYTHON, "args": [str(BAD_SERVER)], **more}
        tools.append(MCPTool(config, allow={PYTHON: may}, execution_timeout=20))
        return tools[-1]

    yield make
    for tool in tools:
        tool.close()


def do(tool: MCPTool, code: str) -> str:
    output = tool.call("do", {"text": code})
    assert not output.error, output.text
    return output.text


def test_the_record_of_a_call_says_that_the_server_was_confined(made: Made) -> None:
    assert made().call("echo", {"text": "hi"}).details == {"sandbox": "full"}
    assert made(False).call("echo", {"text": "hi"}).details == {}


def test_it_reads_nothing_but_its_interpreter_its_packages_and_its_script(made: Made) -> None:
    look = "import os\nfor path in {}:\n    print(path, os.path.exists(path))"
    with tempfile.NamedTemporaryFile() as secret:
        os.chmod(secret.name, 0o644)
        hidden = [secret.name, str(Path(__file__)), "/etc/shadow", "/var/log", "/usr/bin/env", "/etc/hostname"]
        assert do(made(), look.format(hidden)) == "".join(f"{path} False\n" for path in hidden)
    seen = [os.__file__, str(BAD_SERVER), pytest.__file__]
    assert do(made(), look.format(seen)) == "".join(f"{path} True\n" for path in seen)


def test_it_may_read_what_it_was_allowed_and_write_none_of_it(made: Made, tmp_path: Path) -> None:
    tmp_path.joinpath("data").mkdir()
    tmp_path.joinpath("data", "a.txt").write_text("alpha")
    tool = made({"read": [str(tmp_path / "data")]})
    assert do(tool, f"print(open({str(tmp_path / 'data' / 'a.txt')!r}).read())") == "alpha\n"
    assert "Read-only" in do(tool, f"open({str(tmp_path / 'data' / 'b.txt')!r}, 'w')")


def test_it_may_write_to_a_directory_that_it_was_allowed_as_the_owner_of_that(made: Made) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        do(made({"write": [folder]}), f"open({folder + '/made'!r}, 'w').write('by the server')")
        made_there = Path(folder, "made")
        assert made_there.read_text() == "by the server"
        assert made_there.stat().st_uid == (65534 if os.geteuid() == 0 else os.geteuid())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a server away")
def test_it_does_not_become_root_to_write_somewhere(made: Made, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="must belong to one user who is not root"):
        made({"write": [str(tmp_path)]}).functions()


def test_what_it_writes_elsewhere_is_gone_with_it(made: Made) -> None:
    tool = made()
    do(tool, "open('/home/server/x', 'w').write('y')")
    assert "Read-only" in do(tool, "open('/usr/lib/x', 'w')")
    assert "No space" in do(
        made({"files_mb": 1}), "open('x', 'wb').write(bytes(1 << 20))\nopen('y', 'wb', 0).write(b'y')"
    )
    assert not Path("/home/server/x").exists()


def test_its_environment_has_what_it_was_given_and_nothing_of_ours(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    tool = made(env={"API_KEY": "its own"})
    said = tool.call("environment", {}).text
    assert json.loads(said)["API_KEY"] == "its own"
    assert "secret" not in said
    assert "GEM_CONFINED_SERVER" not in said
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "its own" not in listed


def test_it_has_no_network(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0gem-mcp-test")
        abstract.listen()
        port = ours.getsockname()[1]
        tries = [
            f"socket.create_connection(('127.0.0.1', {port}), 2)", f"socket.create_connection(('::1', {port}), 2)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            "socket.socket(socket.AF_UNIX).connect(chr(0) + 'gem-mcp-test')", "socket.getaddrinfo('example.org', 443)",
        ]  # fmt: skip
        tool = made()
        for attempt in tries:
            assert do(tool, f"import socket\n{attempt}\nprint('OPEN')").endswith("OPEN\n") is False, attempt


def test_a_server_with_a_network_reaches_the_hosts_on_its_list_and_no_others(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours:
        port = ours.getsockname()[1]
        threading.Thread(target=_greet, args=(ours,), daemon=True).start()
        tool = made({"network": [f"127.0.0.1:{port}", "localhost:*", "*:443"]})
        assert connect(tool, f"127.0.0.1:{port}") == "HTTP/1.1 200 Connection established\r\n\r\nhello"
        for target, answer in (
            (f"127.0.0.1:{port + 1}", "403 This host is not on"),
            (f"2130706433:{port}", "403 This host is not on"),
            (f"[::ffff:127.0.0.1]:{port}", "403 This host is not on"),
            ("169.254.169.254:443", "403 This host is not on"),
            (f"localhost:{port}", "403 The host does not have a public address"),
            ("0x7f.1:443", "403 The host does not have a public address"),
            ("2130706433:443", "403 The host does not have a public address"),
            ("localhost:0", "400"), ("localhost:99999", "400"), ("localhost", "400"), (f":{port}", "400"),
        ):  # fmt: skip
            assert answer in connect(tool, target), target
        direct = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\nprint('OPEN')"
        assert "ConnectionRefusedError" in do(tool, direct)
        assert "OPEN" not in do(tool, "import socket\nsocket.socket(socket.AF_NETLINK, 3)\nprint('OPEN')")


def connect(tool: MCPTool, target: str) -> str:
    """What the proxy answers to a request for a connection, and what comes over it."""
    return do(
        tool,
        "import os, socket, urllib.parse\n"
        "at = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])\n"
        "with socket.create_connection((at.hostname, at.port)) as line:\n"
        f"    line.sendall(b'CONNECT {target} HTTP/1.1\\r\\n\\r\\n')\n"
        "    found = b''\n"
        "    while data := line.recv(999): found += data\n"
        "print(found.decode(), end='')",
    )


def _greet(listening: socket.socket) -> None:
    while True:
        try:
            line, _ = listening.accept()
        except OSError:
            return
        with line:
            line.sendall(b"hello")


def test_a_pattern_allows_names_and_never_addresses() -> None:
    assert is_allowed(["*:443"], "example.org", 443)
    assert not is_allowed(["*:443"], "10.0.0.1", 443)
    assert not is_allowed(["*:*"], "::1", 443)
    assert is_allowed(["[::1]:*"], "::1", 443)
    assert is_allowed(["*.example.org:443"], "api.example.org", 443)
    assert not is_allowed(["*.example.org:443"], "example.org.evil.net", 443)


def test_memory_processes_and_files_are_limited(made: Made) -> None:
    tool = made({"memory_mb": 200, "processes": 8})
    assert do(tool, "x = bytearray(300 << 20)") == "MemoryError \n"
    bomb = (
        "import os\ncount = 0\ntry:\n    for _ in range(50):\n        if os.fork() == 0:\n"
        "            import time; time.sleep(30); os._exit(0)\n        count += 1\n"
        "except OSError:\n    pass\nprint(count)"
    )
    assert int(do(tool, bomb)) < 8
    assert "PermissionError" in do(tool, "import os\nos.memfd_create('hidden')")


def test_processes_that_take_too_much_together_end_the_server(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    tool = made({"memory_mb": 150, "processes": 16})
    hogs = (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n"
        "        x = bytearray(os.urandom(1 << 20) * 60); time.sleep(20); os._exit(0)\ntime.sleep(10)"
    )
    with caplog.at_level(logging.WARNING, "gem.tools.mcp.servers"):
        output = tool.call("do", {"text": hogs})
        assert output.error
        assert "ended while it was asked" in output.text
        tool.close()
        time.sleep(0.5)
    assert "used more than 150 MiB" in caplog.text
    assert tool.call("echo", {"text": "again"}).text == "again"


def test_a_message_without_an_end_does_not_fill_our_memory(made: Made) -> None:
    tool = made()
    assert tool.call("endless", {}).error
    assert tool.call("echo", {"text": "again"}).text == "again"


def test_it_cannot_gain_rights_nor_reach_into_the_kernel_or_its_guardians(made: Made) -> None:
    tool = made()
    look = "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\n"
    calls = ["unshare(0x10000000)", "ptrace(16, 1, 0, 0)", "mount(b'x', b'/tmp', b'tmpfs', 0, 0)", "setns(0, 0)"]
    if os.uname().machine == "x86_64":
        calls += ["syscall(425, 8, 0)", "syscall(321, 0, 0, 0)", "syscall(250, 0, 0)", "syscall(323, 0)"]
    for call in calls:
        assert do(tool, f"{look}print(l.{call}, ctypes.get_errno())") == "-1 1\n", call
    assert do(tool, "import os\nprint(os.getuid() == 0, os.getppid())") == "False 1\n"
    said = do(tool, "import os\nfor f in ('environ', 'maps', 'fd', 'root'): print(os.access(f'/proc/1/{f}', 4))")
    assert "True" not in said
    do(tool, "import os\ntry: os.kill(1, 9)\nexcept OSError: pass")
    assert tool.call("echo", {"text": "alive"}).text == "alive"


def test_no_process_of_it_outlives_the_tool(made: Made) -> None:
    tool = made()
    do(tool, "import os, sys\nif os.fork() == 0:\n    os.setsid(); os.execv(sys.executable, ['gem-left-behind', '-c', "
             "'import time; time.sleep(60)'])")  # fmt: skip
    wait_until_left_behind(1)  # the child may still be on its way to its program
    tool.close()
    wait_until_left_behind(0)


def wait_until_left_behind(number: int) -> None:
    """Wait until so many processes of the server run."""
    for _ in range(300):
        if left_behind() == number:
            return
        time.sleep(0.1)
    raise AssertionError(f"{left_behind()} processes of the server run, not {number}")


def left_behind() -> int:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return sum(line.startswith("gem-left-behind") for line in listed.splitlines())


def test_no_process_of_it_outlives_a_host_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom gem.tools.mcp_tool import MCPTool\n"
        f"tool = MCPTool({{'command': {PYTHON!r}, 'args': [{str(BAD_SERVER)!r}, 'gem-orphan']}}, allow=[{PYTHON!r}])\n"
        "assert tool.call('echo', {'text': 'hi'}).text == 'hi'\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([PYTHON, "-c", code], check=False, timeout=120)
    for _ in range(300):
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        if "gem-orphan" not in listed.replace("os.kill", ""):
            return
        time.sleep(0.1)
    raise AssertionError(listed)


# ------------------------------------------------------------------ who allows what


def test_a_machine_that_cannot_confine_it_does_not_start_it(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_confinement, "_obstacle", "There are no namespaces.")
    with pytest.raises(ToolError, match=re.escape("cannot be confined. There are no namespaces.")):
        made().functions()
    assert made(False).call("echo", {"text": "as its operator said"}).text == "as its operator said"


def test_a_configuration_cannot_allow_itself_anything() -> None:
    config = {"command": "x", "confined": False}
    with pytest.raises(InvalidArgument, match="is not for its configuration to say"):
        MCPTool(config, allow=["x"])


def test_the_file_of_who_runs_the_site_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    said = {"network": ["api.example.org:443"], "read": ["/srv/data"], "memory_mb": 300}
    path.write_text(json.dumps({"mcpServers": {
        "a": {"command": "a", "confined": said}, "b": {"command": "b", "confined": False}, "c": {"command": "c"},
    }}))  # fmt: skip
    monkeypatch.setenv("GEM_MCP_SERVERS", str(path))
    found = {name: one.confinement for name, one in registered_servers().items()}
    assert found == {
        "a": Confinement(network=("api.example.org:443",), read=("/srv/data",), memory_mb=300),
        "b": None,
        "c": Confinement(),
    }


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("no", "is true, false or an object"),
        ({"netwrok": []}, "Did you mean network"),
        ({"network": "*:443"}, "is a list of texts"),
        ({"network": ["example.org"]}, "no host with a port"),
        ({"read": ["data"]}, "begins with /"),
        ({"memory_mb": "1"}, "is a whole number"),
        ({"memory_mb": 0}, "must be more than 0"),
    ],
)
def test_an_allowance_that_cannot_be_read_says_why(said: Any, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        MCPTool({"command": "x"}, allow={"x": said})


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(ToolError, match="no program 'gem-no-such-server'"):
        MCPTool({"command": "gem-no-such-server"}, allow=["gem-no-such-server"]).functions()


# ------------------------------------------------------------------ servers from PyPI


@pytest.mark.parametrize("name", ["time", "calculator"])
def test_a_server_from_pypi_works_confined_through_a_link_to_its_command(name: str, tmp_path: Path) -> None:
    link = tmp_path / "linked"
    link.symlink_to(installed(name))
    tool = MCPTool({"command": str(link)}, allow=[str(link)])
    assert tool.functions()
    tool.close()
