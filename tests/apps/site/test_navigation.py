"""The main navigation says where a page is."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from django.urls import resolve, reverse

from apps.site.context import section
from tests.apps.site.addresses import TABLE

NOWHERE = {"accounts", "webhooks", "moderation", "doors", "api", "site", "programs", "well_known"}
"""The apps whose pages, or some of them, no entry of the navigation leads to."""
PAGES = [
    name
    for name, address in TABLE.items()
    if not (address.names or address.post) and name.partition(":")[0] not in NOWHERE
]


def section_of(name: str) -> str:
    """The entry of the page with this name."""
    request = RequestFactory().get(reverse(name))
    request.resolver_match = resolve(request.path)
    return section(request)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_belongs_to_an_entry(name: str) -> None:
    assert section_of(name) != ""


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("site:home", "home"),
        ("site:search", ""),
        ("programs:rest", "docs"),
        ("programs:tokens", ""),
        ("studies:list", "jobs"),
        ("comparisons:compare", "jobs"),
        ("connect:new", "agents"),
        ("play:lobby", "watch"),
    ],
)
def test_a_page_belongs_to_the_entry_that_leads_to_it(name: str, entry: str) -> None:
    assert section_of(name) == entry
