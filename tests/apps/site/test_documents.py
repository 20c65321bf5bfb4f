"""The documents: what is shown, what is cleaned away, where links lead."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import resolve
from pytest_django import Settings

from apps.site import documents


@pytest.fixture
def library(tmp_path: Path, settings: Settings) -> Path:
    """A repository with a README and two documents."""
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Read me\n\nThe [map](docs/map.md#walks) and [code](gem/core.py).\n")
    (tmp_path / "docs" / "map.md").write_text("# Map\n\nWhere.\n\n## Walks\n\nSee [one](decisions/0001-one.md).\n")
    (tmp_path / "docs" / "decisions" / "0001-one.md").write_text("# One\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n")
    settings.BASE_DIR = tmp_path
    return tmp_path


def test_links_between_documents_lead_to_their_pages(library: Path) -> None:
    readme, chart = documents.find("readme"), documents.find("map")
    assert readme is not None
    assert chart is not None
    assert 'href="/docs/map/#walks"' in readme.html
    assert 'href="/docs/decisions/0001-one/"' in chart.html


def test_links_to_source_files_become_text(library: Path) -> None:
    readme = documents.find("readme")
    assert readme is not None
    assert "gem/core.py" not in readme.html
    assert "code" in readme.html


def test_headings_can_be_linked_to(library: Path) -> None:
    chart = documents.find("map")
    assert chart is not None
    assert [heading.anchor for heading in chart.headings] == ["walks"]
    assert '<h2 id="walks">' in chart.html


def test_links_lead_to_headings_that_are_there() -> None:
    by_address = {document.get_absolute_url(): document for document in documents.documents()}
    links = {
        (document.file, *found)
        for document in by_address.values()
        for found in re.findall(r'href="(/docs/[^"#]*)?#([^"]+)"', document.html)
    }
    assert len(links) > 30
    by_file = {document.file: document for document in by_address.values()}
    lost = {
        (file, anchor)
        for file, address, anchor in links
        if f'id="{anchor}"' not in (by_address[address] if address else by_file[file]).html
    }
    assert lost == set()


def test_numbers_in_tables_are_aligned_without_a_style(library: Path) -> None:
    one = documents.find("decisions/0001-one")
    assert one is not None
    assert '<td class="num">2</td>' in one.html
    assert "style" not in one.html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](https://example.com/pixel.png)",
        '<a href="/" hx-get="/x" onclick="x()">y</a>',
        '<img src="/static/x.png" onerror="x()">',
    ],
)
def test_what_could_act_is_shown_or_dropped(library: Path, text: str) -> None:
    (library / "docs" / "evil.md").write_text(f"# Evil\n\n{text}\n")
    evil = documents.find("evil")
    assert evil is not None
    for bad in ("<script", 'href="javascript', "<img", "<a href"):
        assert bad not in evil.html.replace("&lt;", "(")


@pytest.mark.parametrize("slug", ["../secret", "../../etc/passwd", "nothing", ""])
def test_no_name_reaches_another_file(library: Path, slug: str) -> None:
    (library / "secret.md").write_text("# Secret")
    assert documents.find(slug) is None


def test_a_changed_file_is_read_again(library: Path) -> None:
    before = documents.find("map")
    path = library / "docs" / "map.md"
    path.write_text("# Another map\n")
    import os

    os.utime(path, ns=(1, 1))
    after = documents.find("map")
    assert before is not None
    assert after is not None
    assert (before.title, after.title) == ("Map", "Another map")


def test_every_document_of_the_repository_has_an_address() -> None:
    for document in documents.documents():
        match = resolve(document.get_absolute_url())
        assert match.view_name == "site:doc", document.slug
        assert documents.find(match.kwargs["page"]) is document
        assert (settings.BASE_DIR / document.file).exists(), document.slug


@pytest.mark.django_db
def test_documents_of_every_group_have_a_page(client: Client) -> None:
    """The page of any other document has its title and its text in the same places."""
    for document in {document.slug: document for group in documents.groups() for document in _ends(group)}.values():
        answer = client.get(document.get_absolute_url())
        assert answer.status_code == 200, document.slug
        assert document.title in answer.content.decode(), document.slug


def _ends(group: documents.DocumentGroup) -> list[documents.Document]:
    return [group.documents[0], group.documents[-1]]


def test_the_card_of_the_map_says_what_the_map_is() -> None:
    page = documents.find("map")
    assert page is not None
    assert page.summary.startswith("The folders of the repository")


def test_a_summary_keeps_its_words_apart(library: Path) -> None:
    (library / "docs" / "words.md").write_text("# Words\n\none\ntwo `three`\nfour\n")
    words = documents.find("words")
    assert words is not None
    assert words.summary == "one two three four"


def test_the_list_has_every_document_under_one_heading() -> None:
    listed = [document.file for group in documents.groups() for document in group.documents]
    assert sorted(listed) == sorted(document.file for document in documents.documents())
    assert documents.groups()[0].documents[0].file == "README.md"


def test_what_is_for_people_who_change_gemweb_comes_after_what_is_for_people_who_use_it() -> None:
    titles = [group.title for group in documents.groups()]
    assert titles[:3] == ["Start here", "Tutorials", "Guides"]
    project = next(group for group in documents.groups() if group.title == "The project")
    files = [document.file for document in project.documents]
    assert files == ["CONTRIBUTING.md", "docs/map.md", "docs/where.md", "docs/walks.md", "CHANGELOG.md"]
    assert [document.file for document in documents.documents()].count("docs/map.md") == 1


def test_a_wide_table_can_be_scrolled_with_the_keyboard(library: Path) -> None:
    one = documents.find("decisions/0001-one")
    assert one is not None
    assert '<div class="table-wrap" role="region" aria-label="Table" tabindex="0"><table>' in one.html.replace("\n", "")


def test_an_empty_corner_of_a_table_is_no_heading(library: Path) -> None:
    (library / "docs" / "corner.md").write_text("# Corner\n\n| | b |\n|---|---|\n| 1 | 2 |\n")
    corner = documents.find("corner")
    assert corner is not None
    assert "<td></td>" in corner.html
    assert "<th>b</th>" in corner.html


def test_every_document_leads_on_and_says_what_is_on_its_page(library: Path, client: Client) -> None:
    first = client.get("/docs/readme/").content.decode()
    assert '<a class="push" href="/docs/decisions/0001-one/" rel="next">' in first
    assert 'rel="prev"' not in first
    middle = client.get("/docs/decisions/0001-one/").content.decode()
    assert 'href="/docs/readme/" rel="prev"' in middle
    assert "On this page" not in middle
    last = client.get("/docs/map/").content.decode()
    assert 'href="/docs/decisions/0001-one/" rel="prev"' in last
    assert 'href="/docs/reference/gem.core/" rel="next"' in last
    assert 'rel="next"' not in client.get(documents.documents()[-1].get_absolute_url()).content.decode()


def test_formulas_are_drawn_and_none_is_left_as_latex() -> None:
    page = documents.find("algorithms/rebn")
    assert page is not None
    assert page.html.count("<math") >= 5
    assert "$" not in page.html
    assert "\\gamma" not in page.html


def test_a_summary_says_formulas_in_letters() -> None:
    page = documents.find("algorithms/rebn")
    assert page is not None
    assert "the discount γ" in page.summary


def test_pictures_are_shown_and_only_those_of_the_documents_are_served(client: Client) -> None:
    page = documents.find("algorithms/rebn")
    assert page is not None
    assert page.html.count('<img src="/docs/images/learning/') >= 4
    study = documents.find("studies/gamma")  # its figures are beside it
    assert study is not None
    assert '<img src="/docs/images/studies/gamma.svg"' in study.html
    assert client.get("/docs/images/studies/gamma.svg").status_code == 200
    shown = client.get("/docs/images/learning/one-batch.svg")
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/svg+xml")
    assert not shown.streaming, "Django would log a warning"
    for other in ("../map.md", "learning/none.svg", "%2e%2e/map.md", "learning", "studies/gamma.md"):
        assert client.get(f"/docs/images/{other}").status_code in (301, 404)
