"""Uploads are checked in turn, whoever uploads how many, and each has a place in the queue."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.agents import uploads
from apps.agents.models import Upload
from tests.html import tight

pytestmark = pytest.mark.django_db


def test_twenty_uploads_of_one_person_do_not_keep_another_person_waiting(client: Client) -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    for number in range(20):
        Upload.objects.create(slug=f"ada-{number:02}", owner=ada)
    late = Upload.objects.create(slug="bob", owner=bob)
    client.force_login(bob)
    assert "2nd in the queue" in tight(client.get(late.get_absolute_url()))
    order = []
    for _ in range(3):
        claim = uploads._claim()
        assert claim is not None
        order.append(claim.upload.slug)
        claim.upload.delete()
    assert order == ["ada-00", "bob", "ada-01"]


def test_an_upload_that_is_checked_has_no_place() -> None:
    upload = Upload.objects.create(slug="one", owner=User.objects.create_user("ada"))
    assert uploads.place(upload) == 1
    Upload.objects.claim(uuid4(), 1)
    assert uploads.place(upload) is None
