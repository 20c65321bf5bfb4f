"""Menus and inputs are the same HTML as Django's templates make."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.safestring import mark_safe

from apps.site.form_rendering import FormRenderer

GROUPED = [("", "any"), ("Games <&>", [("a\"'", "A & B"), (2, "two")]), ("plain", mark_safe("<b>bold</b>"))]


@pytest.mark.parametrize("widget", [forms.Select, forms.SelectMultiple])
@pytest.mark.parametrize("value", [None, "", "plain", 2, ["a\"'", "plain"], '"><script>'])
def test_a_menu_is_the_same_html_as_djangos(widget: type[forms.Select], value: Any) -> None:
    menu = widget({"class": "input", "required": True, "disabled": False, "data-x": '"<'}, choices=GROUPED)
    ours, theirs = (menu.render("na<me", value, renderer=renderer) for renderer in (FormRenderer(), DjangoTemplates()))
    assert "".join(ours.split()) == "".join(theirs.split())
    assert "<option" in ours


@pytest.mark.parametrize(
    "widget", [forms.TextInput, forms.NumberInput, forms.HiddenInput, forms.URLInput, forms.CheckboxInput]
)
@pytest.mark.parametrize("value", [None, "", 0, 7, 1.5, True, False, '"><script>'])
def test_an_input_is_the_same_html_as_djangos(widget: type[forms.Widget], value: Any) -> None:
    field = widget({"class": "input", "required": True, "disabled": False, "data-x": '"<'})
    ours, theirs = (field.render("na<me", value, renderer=renderer) for renderer in (FormRenderer(), DjangoTemplates()))
    assert ours == theirs


def test_pages_use_it() -> None:
    renderer = forms.Form().renderer
    assert isinstance(renderer, FormRenderer)
