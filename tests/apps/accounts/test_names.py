"""Names of people, agents, checkpoints and jobs: one rule, on every form that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.forms import EndpointForm, UploadForm
from apps.agents.models import Agent, Upload
from apps.jobs.form.forms import EvaluationForm
from apps.names import is_reserved, validate_name
from apps.trainings.forms import TrainingForm
from gem.agents.endpoint import EndpointSpec

pytestmark = pytest.mark.django_db

HOSTILE = {
    "turned around": "abc\u202egnp.exe",
    "isolated": "\u2066abc",
    "escape": "\x1b[31mred",
    "control": "a\x07b",
    "line feed": "a\nb",
    "zero width": "Exp\u200bert",
    "joined": "a\u200db",
    "soft hyphen": "a\u00adb",
    "tag": "a\U000e0041",
    "filler": "\u3164\u3164",
    "braille blank": "\u2800",
    "variation": "a\ufe0f",
    "unusual space": "a\u00a0b",
    "line separator": "a\u2028b",
    "private use": "\ue000",
    "surrogate": "a\ud800",
    "dots": "..",
    "slash": "../..",
    "tower of marks": "z" + "\u0301" * 20,
}
HONEST = ["qwen3-4b", "my first, GRPO, seed 2", "Müller's Ägent", "模型", "модель", "नमूना", "🐙", "C++ (2)", "a.b"]
HONEST += [
    "北京",
    "Ольга",
    "Хор",
    "Νίκος",
    "Qwen-модель 2",
    "Ольга GRPO",
    "β-VAE",
    "μP",
    "π0",
    "expert 2",
    "The A",
    "Ну",
]
TAKEN = ["Expert", "expert", "Human", "RANDOM", " admin ", "ｅｘｐｅｒｔ", "E x p e r t"]
TAKEN += ["Expert.", "the expert", "The-Expert!", "an Expert", "«Expert»", "Éxpert", "deleted agent", "Deleted-Account"]
TAKEN += ["Ехреrt", "Ехрегt", "ΕΧΡΕRT", "аdmin", "Qwеn", "GРT-4", "sуsteм"]
"""The last ones have Cyrillic or Greek letters."""


def refusals(name: str) -> list[bool]:
    """Whether each form that asks for a name refuses this one."""
    every = [
        EndpointForm({"name": name}),
        UploadForm({"name": name}),
        EvaluationForm({"name": name}),
        TrainingForm(User(), {"name": name}),
    ]
    return [bool(form.errors.get("name")) for form in every]


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_cannot_be_seen_is_no_name(kind: str, client: Client) -> None:
    assert refusals(HOSTILE[kind]) == [True] * 4
    with pytest.raises(ValidationError):
        validate_name(HOSTILE[kind])
    if kind != "surrogate":  # which no browser can send
        client.post("/account/signup/", {"username": HOSTILE[kind], "password": "correct horse battery"})
    assert not User.objects.exists()


@pytest.mark.parametrize("name", HONEST)
def test_names_of_all_languages_are_names(name: str) -> None:
    assert refusals(name) == [False] * 4


@pytest.mark.parametrize("name", TAKEN)
def test_nobody_and_no_agent_is_called_like_those_of_the_site(name: str) -> None:
    assert refusals(name) == [True, True, False, True]


def test_an_upload_by_command_has_such_a_name_too(tmp_path: Path) -> None:
    User.objects.create_user("ada")
    (tmp_path / "policy.zip").write_bytes(b"0")
    for name in ("Expert", "a\u202eb"):
        with pytest.raises(CommandError, match=r"reserved|invisible"):
            call_command("upload_checkpoint", str(tmp_path / "policy.zip"), "--owner", "ada", "--name", name)
    assert not Upload.objects.exists()


def test_every_built_in_agent_has_a_reserved_name() -> None:
    names = set(Agent.objects.filter(owner=None).values_list("name", flat=True))
    assert names
    assert all(map(is_reserved, names))


def test_whoever_has_such_a_name_keeps_it() -> None:
    ada = User.objects.create_user("..", password="correct horse battery")
    assert Client().post("/account/login/", {"username": "..", "password": "correct horse battery"}).status_code == 302
    agent = agents.create(ada, "Expert\u200b", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"))
    assert "name" not in EndpointForm({"name": agent.name}, stored=agent.endpoint).errors
    assert "name" in EndpointForm({"name": "Human"}, stored=agent.endpoint).errors


@pytest.mark.parametrize("password", [" " * 10, "aaaaaaaaaaaa", "1 1 1 1 1 1", "abcabcabcabc"])
def test_a_password_has_several_characters(client: Client, password: str) -> None:
    answer = client.post("/account/signup/", {"username": "ada", "password": password})
    assert "fewer than 4 different characters" in answer.content.decode()
    assert not User.objects.exists()
