"""The reference under /docs/ says of every module what its source says."""

from __future__ import annotations

import pytest
from django.test import Client

import gem
from apps.site import documents, reference
from gemweb import manual


def test_every_part_of_the_engine_is_in_it() -> None:
    covered = {name.split(".")[1] for name in reference.NAMES}
    without_a_page = {"envs"}  # the catalog is their documentation
    assert set(gem.LAZY_MODULES) - without_a_page <= covered


def test_a_page_shows_signatures_docstrings_and_errors() -> None:
    text = reference.page("gem.core")
    for words in (
        "## Env\n\n```python\nEnv(seed: int | None = None)\n```",
        "### Env.reset()\n\n```python\nreset(seed: int | None = None) -> tuple[str, Info]",
        "**Arguments**\n\n- `seed`: identifies the episode",
        "**Raises**\n\n- `InvalidArgument`: if `seed` is not such an integer.",
        "- `to_act: tuple[int, ...]`: The seats that have to act",
    ):
        assert words in text
    assert "_choose_seed" not in text


def test_a_method_of_the_clients_is_shown_with_what_it_returns() -> None:
    text = reference.page("gem.client.resources.jobs")
    assert "get(job_id: str) -> Job\n" in text
    assert ") -> Iterator[JobSummary]\n" in text


@pytest.mark.django_db
def test_the_pages_are_served_and_found(client: Client) -> None:
    page = client.get("/docs/reference/gem.client.clients/").content.decode()
    assert "AsyncClient" in page
    assert "/docs/reference/gem.core/" in client.get("/docs/").content.decode()
    assert "reference/gem.vector.make" in [found.slug for found in documents.matching(["make_vec"])]
    assert client.get("/docs/reference/gem.nothing/").status_code == 404


def test_links_formulas_and_lists_survive_for_the_static_pages() -> None:
    files = {"docs/a.md": "a.md", "docs/b/c.md": "b/c.md", "README.md": "index.md"}
    text = (
        "## Some `code` here\nA [page](b/c.md#x), [this](../gem/core.py), [home](../README.md), $x^2$ and `$HOME`:\n"
        "- one\n- two\n\n```\n[not](a.md) $y$\n```\n## Some `code` here\n"
    )
    page = manual.convert(text, "docs/a.md", files)
    assert "## Some `code` here {#some-code-here}\n" in page
    assert "{#some-code-here-1}" in page
    assert "A [page](b/c.md#x), this, [home](index.md), " in page
    assert "<math" in page
    assert "`$HOME`:\n\n- one\n- two\n" in page
    assert "```\n[not](a.md) $y$\n```" in page
