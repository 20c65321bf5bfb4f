"""What of a template's layout reaches the browser."""

import re

import pytest
from django.test import Client

from apps.site.unindented import unindented


def test_lines_begin_at_the_margin_and_stay_lines() -> None:
    assert unindented("<ul>\n  <li\n    id=x\n  >\n\n\tone\n</ul>") == "<ul>\n<li\nid=x\n>\n\none\n</ul>"


@pytest.mark.parametrize("name", ["pre", "textarea"])
def test_what_shows_its_white_space_keeps_it(name: str) -> None:
    kept = f"<{name} class=code>a\n    b\n</{name}>"
    assert unindented(f"<div>\n    {kept}\n    <p>\n  c\n  d</p>") == f"<div>\n{kept}\n<p>\nc\nd</p>"


@pytest.mark.django_db
def test_a_page_is_sent_without_indentation(client: Client) -> None:
    page = client.get("/").content.decode()
    texts = re.split(r"<(?:pre|textarea)\b.*?</(?:pre|textarea)>", page, flags=re.DOTALL)
    assert "env.sample_random_action())" in page
    assert "\n    env.sample_random_action())" in page, "a program keeps its indentation"
    assert not [line for text in texts for line in text.splitlines() if line.startswith(" ")]
