"""Static files as the web process serves them, asynchronously."""

import gzip
import warnings
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.test import AsyncClient, RequestFactory
from pytest_django import Settings

from apps.site.static_files import StaticFilesMiddleware

STYLES = "/static/css/gemweb.css"


async def test_a_file_is_served_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="StreamingHttpResponse")
        answer = await AsyncClient().get(STYLES)
        assert answer.status_code == 200
        assert not answer.streaming
    assert answer["Content-Type"].startswith("text/css")
    assert int(answer["Content-Length"]) == len(answer.content) > 1000


async def test_a_file_of_a_checkout_is_compressed_for_those_who_take_that() -> None:
    plain = await AsyncClient().get(STYLES)
    packed = await AsyncClient().get(STYLES, headers={"accept-encoding": "gzip, br"})
    assert (packed["Content-Encoding"], packed["Vary"], plain["Vary"]) == ("gzip", "Accept-Encoding", "Accept-Encoding")
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 3
    assert gzip.decompress(packed.content) == plain.content
    font = "/static/fonts/inter-latin-wght-normal.woff2"
    assert "Content-Encoding" not in await AsyncClient().get(font, headers={"accept-encoding": "gzip"})


async def test_a_browser_that_has_it_gets_nothing() -> None:
    first = await AsyncClient().get(STYLES)
    again = await AsyncClient().get(STYLES, headers={"if-modified-since": first["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(("asked", "status", "length"), [("bytes=0-9", 206, 10), ("bytes=99999999-", 416, 0)])
async def test_a_part_of_a_file_can_be_asked_for(asked: str, status: int, length: int) -> None:
    part = await AsyncClient().get(STYLES, headers={"range": asked})
    assert (part.status_code, len(part.content)) == (status, length)


async def test_the_head_of_a_file_has_its_length_and_no_body() -> None:
    head = await AsyncClient().head(STYLES)
    assert head.content == b""
    assert int(head["Content-Length"]) > 1000


def test_a_file_that_changes_while_it_is_served_is_whole(tmp_path: Path, settings: Settings) -> None:
    settings.STATICFILES_DIRS = [tmp_path]
    settings.STATIC_ROOT = tmp_path / "not-there"
    finders.get_finder.cache_clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            serve = StaticFilesMiddleware(lambda _: HttpResponse(status=404))
        for content in (b"a { color: red }", b"a { color: rebeccapurple }"):
            (tmp_path / "page.css").write_bytes(content)
            answer = serve(RequestFactory().get("/static/page.css"))
            assert answer.content == content
            assert int(answer["Content-Length"]) == len(content)
        assert serve(RequestFactory().get("/static/../settings.py")).status_code == 404
    finally:
        finders.get_finder.cache_clear()
