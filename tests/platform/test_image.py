"""The image, as far as it can be judged where none can be built: what it copies is sent, and what it runs is there."""

import re

import yaml

from tests.services import ROOT

DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()
LET_THROUGH = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}


def copied() -> set[str]:
    """What is copied from the checkout."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return {name for line in lines for name in line.split()[:-1]}


def test_what_is_copied_is_there_and_is_sent_to_the_engine() -> None:
    assert copied() >= {"manage.py", "gem", "requirements.lock"}
    assert copied() <= LET_THROUGH
    assert [name for name in LET_THROUGH if not (ROOT / name).exists()] == []


def test_nothing_else_is_sent() -> None:
    assert (ROOT / ".dockerignore").read_text().splitlines()[0] == "*"
    assert copied() == LET_THROUGH


def test_the_containers_encrypt_nothing_by_themselves_and_do_not_say_so() -> None:
    environment = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())["x-gemweb"]["environment"]
    assert "BIND=0.0.0.0" in DOCKERFILE, "so that a start without HTTPS is refused"
    assert environment["TLS_IN_FRONT"] == "${TLS_IN_FRONT:-0}"


def test_every_setting_reaches_the_containers_but_not_those_of_the_host() -> None:
    """The file from which Compose takes passwords also has BIND and PORT, which are of the host there."""
    compose = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
    ours = [service for service in compose["services"].values() if service.get("image") == "gemweb"]
    assert len(ours) == 6
    for service in ours:
        assert service["env_file"] == [{"path": ".env", "required": False}]
        own = {name: service["environment"][name] for name in ("BIND", "PORT", "STATE_DIR")}
        assert own == {"BIND": "0.0.0.0", "PORT": 8000, "STATE_DIR": "/state"}


def test_the_passwords_of_the_containers_are_not_committed() -> None:
    assert "docker/.env" in (ROOT / ".gitignore").read_text().splitlines()


def test_every_process_runs_the_code_of_the_image() -> None:
    services = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())["services"]
    words = {word for service in services.values() for word in service.get("command", [])}
    modules = {word for word in words if word.startswith(("gemweb.", "workers."))}
    modules |= set(re.findall(r'"-m", "([\w.]+)"', DOCKERFILE))
    assert modules >= {"gemweb.serve", "gemweb.local.healthy", "gemweb.local.commands", "workers.play"}
    assert [name for name in modules if not (ROOT / name.replace(".", "/")).with_suffix(".py").exists()] == []
