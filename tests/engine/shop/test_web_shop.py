"""The web shop: its pages, its search, what a purchase is worth, and the catalogue."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.agents import make_agent
from gem.envs.shop import generated
from gem.envs.shop.product import Catalogue, Product
from gem.envs.shop.reward import Goal, purchase_reward, similarity
from gem.envs.shop.search import ProductIndex, words_of
from gem.errors import InvalidArgument
from gem.rollout import EpisodeRequest, rollout

ID = "shop:WebShop-v0"
MUG = Product(
    key="B1",
    title="Corvo Travel Mug, leak proof",
    kind="travel mug",
    path="Kitchen › Drinkware › Travel mugs",
    price=19.99,
    attributes=("leak proof", "double walled"),
    options={"color": ("black", "sage green"), "size": ("250 ml", "350 ml")},
    bullets=("Fits cup holders",),
    description="A mug for the way.",
    rating=4.0,
)
LAMP = Product("B2", "Lumeo Desk Lamp, dimmable", "desk lamp", "Home › Lighting › Desk lamps", 30.0,
               ("dimmable",), {}, (), "", 4.0)  # fmt: skip
BOTTLE = Product("B3", "Orsa Thermos Bottle", "water bottle", "Kitchen › Drinkware › Bottles", 12.0,
                 ("leak proof",), {"color": ("black",)}, (), "", 4.0)  # fmt: skip
NOUNS = Catalogue([MUG, LAMP, BOTTLE], "test").nouns


def begun(seed: int = 0, **kwargs: Any) -> gem.Env:
    env = gem.make(ID, **kwargs)
    env.reset(seed=seed)
    return env


def wish(**more: Any) -> Goal:
    asked = {"key": "B1", "instruction": "", "attributes": ("leak proof",), "options": {"color": "black"}}
    return Goal(**{**asked, "price_upper": 20.0, **more})


# ---------------------------------------------------------------- the reward


def paid(bought: Product, chosen: dict[str, str], goal: Goal) -> float:
    return purchase_reward(bought, chosen, goal, MUG, NOUNS).total


def test_all_that_was_asked_for_is_worth_one() -> None:
    assert paid(MUG, {"color": "black"}, wish()) == 1.0


@pytest.mark.parametrize(
    ("chosen", "goal", "expected"),
    [
        ({}, wish(), 2 / 3),
        ({"color": "sage green"}, wish(), 2 / 3),
        ({"color": "black"}, wish(price_upper=10.0), 2 / 3),
        ({"color": "black"}, wish(attributes=("dimmable",)), 2 / 3),
        ({"color": "black"}, wish(attributes=("leak proof", "dimmable")), 3 / 4),
        ({"color": "black", "size": "250 ml"}, wish(options={"color": "black", "size": "350 ml"}), 3 / 4),
        ({"color": "black"}, wish(attributes=("fits cup holders",)), 1.0),
        ({"color": "sage green"}, wish(options={"color": "green sage"}), 1.0),
        ({"color": "black", "size": "250 ml"}, wish(), 1.0),
    ],
)
def test_a_part_is_worth_its_share(chosen: dict[str, str], goal: Goal, expected: float) -> None:
    assert paid(MUG, chosen, goal) == pytest.approx(expected)


def test_another_kind_of_thing_is_worth_less_or_nothing() -> None:
    assert paid(LAMP, {}, wish(attributes=("dimmable",), price_upper=100.0)) == 0.0
    related = purchase_reward(BOTTLE, {"color": "black"}, wish(), MUG, NOUNS)
    assert related.type in (0.0, 0.1, 0.5)
    assert related.total == pytest.approx(related.type)


def test_likeness_is_that_of_sets_of_words() -> None:
    assert similarity("sage green", "green sage") == 100
    assert similarity("green", "sage green") == 100
    assert similarity("black", "blue") < 85


# ---------------------------------------------------------------- search and catalogue


def test_the_best_texts_come_first() -> None:
    index = ProductIndex({"a": "red mug", "b": "red mug mug for tea", "c": "blue lamp", "d": "mug"})
    assert index.search("mug", 10)[0] in ("b", "d")
    assert set(index.search("red mugs", 10)) == {"a", "b", "d"}
    assert index.search("red mug", 10)[0] == "a"
    assert index.search("chair", 10) == []
    assert index.search("mug", 1) == index.search("mug", 10)[:1]


def test_words_are_small_and_without_plural() -> None:
    assert words_of("Desk Lamps, 0.5 m (glass)") == ["desk", "lamp", "0.5", "m", "glass"]


def test_our_shop_has_more_than_a_thousand_different_products() -> None:
    shop = generated.catalogue()
    assert len(shop.products) >= 1000
    assert len({product.title for product in shop.products.values()}) > 0.95 * len(shop.products)
    for product in shop.products.values():
        assert 0 < product.price < 1000
        assert len(product.attributes) >= 3
        assert all(product.options.values())
        assert not re.search(r"[\[\]{}]", product.text), "it could not be clicked"


def test_the_catalogue_is_the_same_in_every_process() -> None:
    assert generated.catalogue().data_hash == generated.catalogue.__wrapped__().data_hash
    assert gem.make(ID).data_hash == generated.catalogue().data_hash


# ---------------------------------------------------------------- pages


def test_a_visit_leads_from_search_over_results_and_a_product_to_the_purchase() -> None:
    env = begun(4)
    wanted = env.shop.products[env.goal.key]
    text, *_ = env.step(f"search[{wanted.title}]")
    assert "products were found" in text
    assert wanted.key in env.result_keys
    *_, info = env.step("click[Next >]")
    assert "Page 2" in info["suffix"]
    env.step("click[< Prev]")
    for _ in range(env.result_keys.index(wanted.key) // 10):
        env.step("click[Next >]")
    env.step(f"click[{wanted.key.lower()}]")
    for sheet in ("Description", "Features", "Reviews"):
        *_, info = env.step(f"click[{sheet}]")
        assert "Buy Now" not in info["suffix"]
        env.step("click[< Prev]")
    for value in env.goal.options.values():
        *_, info = env.step(f"click[{value}]")
        assert f"[clicked button] {value} [clicked button_]" in info["suffix"]
    _, reward, terminated, _, info = env.step("click[Buy Now]")
    assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_what_is_not_on_the_page_cannot_be_clicked() -> None:
    env = begun()
    for action in ("click[Buy Now]", "click[no such thing]", "click[Search]"):
        text, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["error"]) == (0.0, False, "rule")
        assert "nothing to click" in text
    env.step("search[mug]")
    assert env.step("search[lamp]")[4]["error"] == "rule"
    env.step("click[Back to Search]")
    assert "error" not in env.step("search[lamp]")[4]


def test_a_search_without_results_leaves_the_way_back() -> None:
    env = begun()
    text, *_ = env.step("search[zzzz]")
    assert text == "Nothing was found for 'zzzz'."
    env.step("click[Back to Search]")
    assert env.query == ""


@pytest.mark.parametrize("mode", ["html", "text", "text_rich"])
def test_every_mode_shows_the_same_page(mode: str) -> None:
    env = begun(mode=mode)
    *_, info = env.step("search[travel mug]")
    assert env.goal.instruction.split(".")[0].split("'")[0] in info["suffix"]
    assert all(key in info["suffix"] for key in env.result_keys[:10])
    assert {"html": "<a class=", "text": " [SEP] ", "text_rich": "[button]"}[mode] in info["suffix"]


def test_html_pages_escape_what_they_show(tmp_path: Path) -> None:
    env = begun(mode="html", **webshop_files(tmp_path, name="<b>Mug</b> & more"))
    env.step("search[mug]")
    *_, info = env.step("click[b000000001]")
    assert "<b>" not in info["suffix"]
    assert "&lt;b&gt;Mug" in info["suffix"]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="text_rich"):
        gem.make(ID, mode="url")


def test_the_view_offers_departments_then_links_and_options() -> None:
    env = begun()
    assert env.view()["say"] == ("\\boxed{search[", "]}")
    assert "Lighting" in [link["text"] for link in env.view()["links"]]
    env.step(env.view()["links"][0]["act"])
    product = next(link for link in env.view()["links"] if "note" in link)
    env.step(product["act"])
    option = next(link for link in env.view()["links"] if "group" in link)
    env.step(option["act"])
    assert [link["text"] for link in env.view()["links"] if link.get("chosen")] == [option["text"]]


# ---------------------------------------------------------------- agents


@pytest.mark.parametrize(("env_id", "at_least"), [(f"{ID}-easy", 0.95), (f"{ID}-hard", 0.9)])
def test_the_expert_satisfies_most_customers_and_chance_none(env_id: str, at_least: float) -> None:
    slots = [EpisodeRequest(seed, env_id, seed) for seed in range(60)]
    records = list(rollout(make_agent("expert"), slots))
    assert sum(bool(record.success) for record in records) >= at_least * 60
    assert all("error" not in turn.info for record in records for turn in record.turns)
    chance = list(rollout(make_agent("random"), slots))
    assert sum(bool(record.success) for record in chance) <= 3


# ---------------------------------------------------------------- WebShop's own files


def webshop_files(folder: Path, name: str = "Corvo Travel Mug") -> dict[str, Any]:
    """Two small files in the shape of WebShop's."""
    options = {"Color": [{"value": "Sage/Green", "image": None}, {"value": "Black"}], "Size": None}
    entry = {
        "asin": "B000000001",
        "name": name,
        "category": "kitchen",
        "query": "Travel Mug",
        "product_category": "Home & Kitchen › Kitchen & Dining › Travel Mugs",
        "small_description": ["Leak proof"],
        "full_description": "A mug.",
        "pricing": "$12.50$19.00",
        "customization_options": options,
    }
    other = {**entry, "asin": "B000000002", "name": "Plain mug", "pricing": None, "customization_options": None}
    (folder / "items.json").write_text(json.dumps([entry, {**entry, "asin": "nan"}, other]))
    (folder / "ins.json").write_text(json.dumps({"B000000001": {"attributes": ["leak proof"]}}))
    return {"products": str(folder / "items.json"), "attributes": str(folder / "ins.json")}


def test_the_products_of_webshop_can_be_sold(tmp_path: Path) -> None:
    env = begun(3, **webshop_files(tmp_path))
    assert env.shop.keys == ["B000000001"]
    product = env.shop.products["B000000001"]
    assert product.options == {"color": ("sage | green", "black")}
    assert (product.price, product.kind) == (12.5, "travel mug")
    assert env.data_hash != generated.catalogue().data_hash
    env.step("search[mug]")
    env.step("click[B000000001]")
    env.step(f"click[{env.goal.options['color']}]")
    assert env.step("click[Buy Now]")[1] == 1.0


def test_files_that_are_not_there_or_something_else_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"cannot be read.*Name a file"):
        gem.make(ID, products=str(tmp_path / "none.json"))
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InvalidArgument, match="is no JSON file"):
        gem.make(ID, products=str(tmp_path / "bad.json"))
    files = webshop_files(tmp_path)
    with pytest.raises(InvalidArgument, match="items_ins_v2"):
        gem.make(ID, products=files["products"])
