"""Short answers: exact match up to case, punctuation and articles, aliases, and F1."""

import pytest

from gem.grading.answers import aliases, best_f1, exact_match, f1, normalize_answer


@pytest.mark.parametrize(
    ("answer", "references", "same"),
    [
        ("Paris", ["Paris"], True),
        (" the  Eiffel-Tower. ", ["Eiffeltower"], True),
        ("An apple", ["apple"], True),
        ("theory", ["ory"], False),
        ("1999", ["1999."], True),
        ("Berlin", ["Paris", "Berlin"], True),
        ("Paris, France", ["Paris"], False),
        ("", ["Paris"], False),
        ("Jonny Craig", ['Jonny" Craig'], True),
        ("GESELLSCHAFT MIT BESCHRÄNKTER HAFTUNG", ["Gesellschaft mit beschränkter Haftung"], True),
    ],
)
def test_exact_match(answer: str, references: list[str], same: bool) -> None:
    assert exact_match(answer, references) is same


def test_f1_counts_common_words() -> None:
    assert f1("a failed coup", "a failed coup attempt") == pytest.approx(0.8)
    assert f1("coup coup", "coup") == pytest.approx(2 / 3)
    assert f1("", "") == 1
    assert f1("the", "Paris") == 0
    assert best_f1("Paris", ["Rome", "Paris France"]) == pytest.approx(2 / 3)
    assert best_f1("Paris", []) == 0


def test_what_is_ignored() -> None:
    assert normalize_answer("  The (old) Man's  ") == "old mans"


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        ("Paris", ["Paris"]),
        (["Paris", 7], ["Paris", "7"]),
        (42, ["42"]),
        ("['a', \"b\"]", ["a", "b"]),
        ("['a", ["['a"]),
        ("[x]", ["[x]"]),
        (True, ["True"]),
    ],
)
def test_aliases(value: object, listed: list[str]) -> None:
    assert aliases(value) == listed


def test_an_array_of_answers_counts_as_a_list() -> None:
    numpy = pytest.importorskip("numpy")
    assert aliases(numpy.array(["a", "b"])) == ["a", "b"]
    assert aliases(numpy.int64(5)) == ["5"]
