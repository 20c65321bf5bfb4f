"""How numbers, durations and prose are written on pages."""

import pytest

from apps import pictures
from apps.site.templatetags import ui


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "+1"), (-0.1, "−0.1"), (0.0, "0"), (0.0191, "+0.019"), (-0.00001, "0"), (None, "–")]
)
def test_a_reward_has_its_sign_and_no_trailing_zeros(value: float | None, text: str) -> None:
    assert ui.signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.500"), (-1234.5, "−1,234.500"), (-0.0001, "0.000"), (float("nan"), "–"), (None, "–")]
)
def test_a_number_has_a_real_minus_sign(value: float | None, text: str) -> None:
    assert ui.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.54, "54.0\u00a0%"), (-0.653, "−65.3\u00a0%"), (-0.0001, "0.0\u00a0%"), (None, "–")]
)
def test_a_share_has_a_real_minus_sign_and_stays_on_one_line(value: float | None, text: str) -> None:
    assert ui.percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.42, "0.4~s"), (12.4, "12~s"), (60, "1~min"), (72, "1~min 12~s"), (7500, "2~h 5~min")]
)
def test_a_duration_is_in_words_and_breaks_only_between_its_units(value: float, text: str) -> None:
    assert ui.seconds(value).replace("\u00a0", "~") == text


def test_numbers_of_a_sentence_stay_with_their_units() -> None:
    said = ui.unbroken("43 % solve it in 12 s, 3 more % of 2 sorts; 5.9 points, 2 h 5 min")
    assert said.replace("\u00a0", "~") == "43~% solve it in 12~s, 3 more % of 2 sorts; 5.9~points, 2~h 5~min"


def test_an_interval_is_drawn_within_its_scale() -> None:
    drawn = pictures.interval(0.5, -1.0, 2.0)
    assert '<circle class="mean" cx="50.0%"' in drawn
    assert '<line class="range" x1="0.0%" x2="100.0%"' in drawn
    assert 'aria-label="0.50, 95 % interval −1.00 to 2.00"' in drawn
    assert "zero" not in drawn
    assert '<line class="zero" x1="50.0%" x2="50.0%"' in pictures.interval(0.5, -0.5, 0.9, -1.0, 1.0)


def test_prose_escapes_what_it_quotes() -> None:
    assert ui.prose("earns -0.1 for `<b>`") == "earns −0.1 for <code>&lt;b&gt;</code>"


def test_prose_keeps_a_backquote_without_a_partner() -> None:
    assert ui.prose("a ` b - 1") == "a ` b - 1"
