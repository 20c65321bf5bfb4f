"""What a page weighs on its way: texts are packed, small ones and files that are packed already are not."""

import gzip

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
MOST_BYTES = 60_000
"""Of the longest page, as it is sent; styles, scripts and fonts come once and add 150,000."""


@pytest.mark.parametrize("path", ["/environments/", "/leaderboard/", "/docs/training/", "/jobs/new/"])
def test_pages_are_packed(client: Client, path: str) -> None:
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert len(packed.content) < MOST_BYTES
    assert gzip.decompress(packed.content).strip().endswith(b"</html>")
    assert "Content-Encoding" not in client.get(path)
