"""Settings that are missing, contradictory or misspelt stop the start with one sentence; secrets may come in files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from gemweb.variables import Variables
from tests import warm
from tests.services import ROOT

SERVER = {
    "SECRET_KEY": "0123456789" * 6,
    "DATABASE_URL": "postgres://gemweb@127.0.0.1:9/gemweb",
    "VALKEY_URL": "redis://127.0.0.1:9/0",
    "LOCAL_MODE": "0",
    "DEBUG": "0",
    "BIND": "",
    "LEASE_SECONDS": "",
}
PRINT = "import django; from django.conf import settings; django.setup(); print({})"


def start(what: str = "''", **env: str) -> subprocess.CompletedProcess[str]:
    """Read the settings as a server does and print `what`."""
    command = [sys.executable, "-c", PRINT.format(what)]
    return warm.run("web", command, cwd=ROOT, env={**os.environ, **SERVER, **env})


def refused(**env: str) -> str:
    """The last line of a start that was refused."""
    done = start(**env)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("django.core.exceptions.ImproperlyConfigured: ")
    return last.partition(": ")[2]


def test_a_server_starts_with_what_the_page_about_deploying_asks_for() -> None:
    assert start().returncode == 0


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"SECRET_KEY": ""}, "Set SECRET_KEY"),
        ({"SECRET_KEY": "short"}, "Set SECRET_KEY to at least 50"),
        ({"DATABASE_URL": "sqlite:///x"}, "DATABASE_URL must begin with postgres://"),
        ({"DATABASE_POOL": "many"}, "DATABASE_POOL is 'many': a whole number"),
        ({"HTTPS": "maybe"}, "HTTPS is 'maybe': write 1 or 0."),
        ({"LEASE_SECONDS": "-3"}, "LEASE_SECONDS is '-3': a number above 0"),
        ({"LEASE_SECONDS": "5", "HEARTBEAT_SECONDS": "6"}, "HEARTBEAT_SECONDS must be less than LEASE_SECONDS"),
        ({"VALKEY_URL": "valkey.example.org"}, "VALKEY_URL must begin with redis://"),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL is 'LOUD'"),
        ({"CSRF_TRUSTED_ORIGINS": "gem.example.org"}, "CSRF_TRUSTED_ORIGINS has 'gem.example.org': whole origins"),
        ({"CSRF_TRUSTED_ORIGINS": "https://gem.example.org/"}, "whole origins are needed, without a path"),
        ({"ALLOWED_HOSTS": "127.0.0.1,https://gem.example.org"}, "ALLOWED_HOSTS has 'https://gem.example.org': host"),
        ({"ALLOWED_HOSTS": "gem.example.org:8443"}, "without a port, such as gem.example.org."),
        ({"SITE_URL": "gem.example.org"}, "SITE_URL is 'gem.example.org': a whole origin"),
        ({"VALKEY_URL": "redis://:pass/word@valkey:6379/0"}, "VALKEY_URL is no address"),
        ({"LOGINS_PER_MINUTE": "0"}, "LOGINS_PER_MINUTE is '0': it must be 1 or more, such as 8."),
        ({"ENDPOINT_CONCURRENCY": "0"}, "ENDPOINT_CONCURRENCY is '0': it must be 1 or more"),
        ({"GEM_DATA_FROM": "anywhere"}, "GEM_DATA_FROM is 'anywhere'"),
        ({"GEM_OPENENV_ADDRESSES": "10.1.0.0/16"}, "GEM_OPENENV_ADDRESSES cannot be read"),
        ({"PROXY_ADDRESSES": "10.1.2.3,proxy"}, "PROXY_ADDRESSES has 'proxy': addresses and networks"),
        ({"PRIVATE_ENDPOINTS": "ten"}, "PRIVATE_ENDPOINTS cannot be read"),
        ({"DEBUG": "1", "BIND": "0.0.0.0"}, "DEBUG and LOCAL_MODE are for loopback only"),
        ({"BIND": "0.0.0.0", "HTTPS": "0"}, "passwords would cross the network unencrypted: set HTTPS=1"),
        ({"BIND": "192.168.1.7", "HTTPS": "0", "TLS_IN_FRONT": "0"}, "BIND is 192.168.1.7 but HTTPS is off"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(env: dict[str, str], said: str) -> None:
    assert said in refused(**env)


def test_hosts_and_origins_may_be_of_every_kind() -> None:
    hosts, origins = "*,.example.org,gem.example.org,127.0.0.1,[::1]", "https://*.example.org,http://gem:8443"
    assert start(ALLOWED_HOSTS=hosts, CSRF_TRUSTED_ORIGINS=origins, SITE_URL="https://gem.example.org/").returncode == 0


@pytest.mark.parametrize(
    ("hosts", "address"),
    [
        ("127.0.0.1,gem.example.org", "https://gem.example.org"),  # monitors use the first one
        (".example.org,localhost,gem.example.org", "https://gem.example.org"),
        ("127.0.0.1", "https://127.0.0.1"),
        ("*", "https://127.0.0.1"),
    ],
)
def test_certificates_name_an_address_that_others_can_reach(hosts: str, address: str) -> None:
    assert start("settings.SITE_URL", ALLOWED_HOSTS=hosts, HTTPS="1").stdout.strip() == address


def test_a_password_that_breaks_the_address_of_valkey_is_not_repeated() -> None:
    assert "hus" not in start(VALKEY_URL="redis://:hus/h@valkey:6379/0").stderr


def test_a_public_address_needs_encryption_by_somebody() -> None:
    assert start(BIND="0.0.0.0", HTTPS="1").returncode == 0
    assert start(BIND="0.0.0.0", HTTPS="0", TLS_IN_FRONT="1").returncode == 0
    assert start(BIND="127.0.0.1", HTTPS="0").returncode == 0


def test_a_password_that_breaks_the_address_is_not_repeated() -> None:
    done = start(DATABASE_URL="postgres://gemweb:hus/h@db:5432/gemweb")
    assert "DATABASE_URL is no address" in done.stderr
    assert "hus" not in done.stderr


def test_encryption_that_the_address_of_the_database_asks_for_stays() -> None:
    done = start("settings.DATABASES['default']['OPTIONS']", DATABASE_URL="postgres://u:p@h/n?sslmode=verify-full")
    assert "'sslmode': 'verify-full'" in done.stdout
    assert "'pool'" in done.stdout


def test_a_secret_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k" * 60 + "\n")
    done = start("settings.SECRET_KEY", SECRET_KEY="", SECRET_KEY_FILE=str(tmp_path / "key"))
    assert done.stdout.strip() == "k" * 60


def test_a_secret_in_two_places_or_in_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    file = str(tmp_path / "empty")
    for env, said in (
        ({"TOKEN": "a", "TOKEN_FILE": file}, "TOKEN or TOKEN_FILE, not both"),
        ({"TOKEN_FILE": file}, "is empty"),
        ({"TOKEN_FILE": str(tmp_path / "none")}, "cannot be read: No such file"),
    ):
        with pytest.raises(ImproperlyConfigured, match=said):
            Variables(env).secret("TOKEN")


@pytest.mark.parametrize(("said", "meant"), [("1", True), ("ON", True), ("no", False), ("", True), ("False", False)])
def test_a_switch_is_on_or_off(said: str, meant: bool) -> None:
    assert Variables({"HTTPS": said}).switch("HTTPS", default=True) is meant


def test_a_line_of_the_log_says_when_and_keeps_the_traceback() -> None:
    broken = (
        "[__import__('logging').getLogger('apps.jobs').error('It %s.', 'broke', exc_info=error) "
        "for error in [ZeroDivisionError('by nothing')]]"
    )
    done = start(broken, LOG_JSON="1")
    line = json.loads(done.stderr.strip().splitlines()[-1])
    assert (line["event"], line["level"], line["logger"]) == ("It broke.", "error", "apps.jobs")
    assert "ZeroDivisionError: by nothing" in line["exception"]
    assert line["at"].endswith("Z")


def test_a_database_that_is_away_is_one_line_of_the_log() -> None:
    away = (
        "[__import__('logging').getLogger('django.request').error('Internal Server Error: %s', '/', exc_info=error)"
        " for error in [__import__('django.db').db.OperationalError('connection failed:\\nis it running?')]]"
    )
    done = start(away, LOG_JSON="1")
    line = json.loads(done.stderr.strip().splitlines()[-1])
    assert line["event"] == "Internal Server Error: /: connection failed: is it running?"
    assert "exception" not in line


def test_a_host_that_strangers_make_up_is_one_line_of_the_log() -> None:
    refused_host = (
        "[__import__('logging').getLogger('django.security.DisallowedHost').error('%s', error, exc_info=error) "
        "for error in [__import__('django.core.exceptions').core.exceptions.DisallowedHost('evil.example')]]"
    )
    done = start(refused_host, LOG_JSON="1")
    line = json.loads(done.stderr.strip().splitlines()[-1])
    assert line["event"] == "evil.example"
    assert "exception" not in line


@pytest.mark.parametrize("command", [["manage.py", "check"], ["-m", "gemweb.serve"]])
def test_the_commands_of_a_server_say_the_sentence_and_nothing_else(command: list[str]) -> None:
    env = {**os.environ, **SERVER, "SECRET_KEY": "short"}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ("gemweb: Set SECRET_KEY to at least 50 random characters; `make up` generates it.\n")
