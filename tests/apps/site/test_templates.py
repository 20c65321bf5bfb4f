"""What of a template's layout reaches the browser."""

import re

import pytest
from django.conf import settings
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


def test_every_swap_is_one_that_htmx_or_this_site_knows() -> None:
    """htmx takes a style that it does not know for innerHTML, and an element would be put into itself."""
    known = {"innerHTML", "outerHTML", "afterbegin", "beforeend", "none", "true", "morph"}
    found = {
        (path.name, style.split()[0])
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for style in re.findall(r'hx-swap(?:-oob)?="([^"]+)"', path.read_text("utf-8"))
    }
    assert found
    assert {(name, style) for name, style in found if style not in known} == set()


def test_what_asks_again_also_asks_after_a_request_without_an_answer() -> None:
    """What asks once when it is loaded, and is replaced by what asks again, stops at the first answer that is lost."""
    templates = list((settings.BASE_DIR / "templates").rglob("*.html"))
    assert templates
    assert [path.name for path in templates if "load delay" in path.read_text("utf-8")] == []
