"""Uploads with a token pass the same gate as those of a browser, and its refusals are problems."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings

from apps.accounts.models import User
from apps.agents.models import Upload
from apps.api import operations
from apps.api.models import Scope
from gem.client import schemas
from gemweb.bodies import BoundedBodies
from gemweb.upload_gate import UploadGate, describe_refusal
from tests.apps.api.conftest import Program
from tests.apps.site.test_bodies import echo

PATH = "/api/v1/uploads"


def sent(secret: str, length: int | None = 4) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of the answer to an upload of four bytes that announces this length."""

    async def _send() -> tuple[int, dict[bytes, bytes], bytes]:
        headers = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
        headers += [] if length is None else [(b"content-length", str(length).encode())]
        scope = {"type": "http", "method": "POST", "path": PATH, "headers": headers}
        application = BoundedBodies(echo, 100, {PATH: UploadGate()}, 60.0, describe_refusal)
        talk = ApplicationCommunicator(application, scope)
        await talk.send_input({"type": "http.request", "body": b"four", "more_body": False})
        start, body = await talk.receive_output(timeout=30), await talk.receive_output(timeout=30)
        await talk.wait()
        return start["status"], dict(start["headers"]), body["body"]

    return async_to_sync(_send)()


@pytest.mark.django_db(transaction=True)
def test_the_gate_knows_tokens_and_answers_with_problems() -> None:
    owner = User.objects.create_user("ada")
    _, manager = operations.make_token(owner, "uploads", [Scope.MANAGE])
    _, player = operations.make_token(owner, "plays", [Scope.PLAY])
    assert sent(manager)[::2] == (200, b"4")
    refused = {"guest": sent(""), "forged": sent("gw_forged"), "scope": sent(player), "length": sent(manager, None)}
    assert {name: answer[0] for name, answer in refused.items()} == {
        "guest": 401,
        "forged": 401,
        "scope": 403,
        "length": 411,
    }
    for status, headers, body in refused.values():
        assert headers[b"content-type"] == b"application/problem+json"
        assert schemas.Problem.model_validate_json(body).status == status
    with override_settings(UPLOADS_PER_USER=0):
        assert sent(manager)[0] == 422


@pytest.mark.django_db
def test_an_upload_waits_for_a_worker_and_is_followed_by_its_slug(program: Program, owner: User, tmp_path: Any) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("card.json", "{}")
    with override_settings(RUNS_DIR=tmp_path):
        fields = {"name": "from afar", "file": SimpleUploadedFile("policy.zip", archive.getvalue())}
        answer = program.client.post(PATH, fields, headers=program.headers)
        assert answer.status_code == 202
        upload = answer.json()
        assert (upload["state"], upload["name"]) == ("waiting", "from afar")
        assert program.get(f"uploads/{upload['slug']}").json()["place"] == 1
        assert [row["slug"] for row in program.get("uploads").json()["items"]] == [upload["slug"]]
        Upload.objects.update(problem="It has no weights.")
        refused = program.get(f"uploads/{upload['slug']}").json()
        assert (refused["state"], refused["problem"], refused["place"]) == ("refused", "It has no weights.", None)


@pytest.mark.django_db
def test_an_upload_without_a_file_names_the_field(program: Program) -> None:
    answer = program.client.post(PATH, {"name": "x"}, headers=program.headers)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["file"]
    agents = program.post("agents", {"name": "human", "spec": {"url": "nowhere", "model": ""}})
    assert {error["field"] for error in agents.json()["errors"]} >= {"name", "spec.url"}
