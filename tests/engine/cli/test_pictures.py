"""What a view must be so that a page can draw it: read from the annotations in `gem.views`."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

import gem
from gem.check.pictures import KINDS, expect_drawable, offers
from gem.check.promise import BrokenPromise

FAMILIES = {"letters": "Wordle", "towers": "TowerofHanoi", "links": "WikiGame", "grid": "Sudoku"}


def picture(kind: str) -> Any:
    env = gem.make(f"game:{FAMILIES[kind]}-v0-easy")
    env.reset(seed=1)
    view = copy.deepcopy(env.view())
    assert view["kind"] == kind in KINDS
    return view


@pytest.mark.parametrize("kind", FAMILIES)
def test_ours_are_drawable_and_offer_something(kind: str) -> None:
    view = picture(kind)
    expect_drawable(view)
    assert all(action.startswith("\\boxed{") for action in offers(view))
    assert offers(view)


@pytest.mark.parametrize(
    ("kind", "spoil", "sentence"),
    [
        ("letters", lambda view: view.update(kind="letter"), "kind is 'letter'; there is grid, letters, towers, links"),
        ("letters", lambda view: view["rows"][0].pop("label"), r"Its rows\[0\] lacks 'label'."),
        (
            "letters",
            lambda view: view["keys"][0][0].update(label=""),
            r"keys\[0\]\[0\] has no label, so a screen reader",
        ),
        (
            "letters",
            lambda view: view["rows"][0]["cells"][0].update(tone="shiny"),
            "has the tone 'shiny'; there is hidden",
        ),
        ("letters", lambda view: view["compose"]["prompts"].pop(), "takes 3 picks and has 2 prompts"),
        ("letters", lambda view: view.update(keys=[]), "takes a key, and nothing on the view can be picked as one"),
        (
            "towers",
            lambda view: view["towers"][0].update(disks="321"),
            r"Its towers\[0\] disks is '321', which is no list",
        ),
        ("towers", lambda view: view["towers"][0]["disks"].append("1"), r"disks\[3\] is '1', which is no int"),
        ("towers", lambda view: view.update(facts=[("On C",)]), "which are not 2 values"),
        ("links", lambda view: view["links"][0].update(href="/x"), "has 'href', which nothing draws"),
        ("links", lambda view: view.update(name=""), "empty name"),
        ("grid", lambda view: view["rows"][0].pop(), "rows of the grid have different lengths"),
        ("grid", lambda view: view.update(origin=2), "has the origin 2; there is 0, 1"),
    ],
)
def test_what_cannot_be_drawn_is_named(kind: str, spoil: Callable[[Any], Any], sentence: str) -> None:
    view = picture(kind)
    spoil(view)
    with pytest.raises(BrokenPromise, match=sentence):
        expect_drawable(view)


def test_an_action_of_several_picks_is_offered_whole() -> None:
    assert {"\\boxed{A A}", "\\boxed{C C}"} == offers(picture("towers"))
    assert any(len(action) == len("\\boxed{1 1 1}") for action in offers(picture("grid")))
