"""Reading an environment's docstring as its page."""

from apps.catalog.docs import Block, parse

DOCSTRING = r"""Find the thing.

    It is somewhere.

    Rules:
        One paragraph
        on two lines. For example: this is no heading.

        Another one:

            a sample
              kept as it is

    Actions:
        - first
        - second, which
          goes on

    Source:
        GEM."""


def test_the_first_paragraph_is_the_summary() -> None:
    page = parse(DOCSTRING)
    assert page.summary == "Find the thing."
    assert page.intro == (Block("text", ("It is somewhere.",)),)


def test_headings_begin_sections() -> None:
    assert [section.heading for section in parse(DOCSTRING).sections] == ["Rules", "Actions", "Source"]


def test_paragraphs_lists_and_samples_are_told_apart() -> None:
    rules, actions, _ = parse(DOCSTRING).sections
    assert rules.blocks == (
        Block("text", ("One paragraph on two lines. For example: this is no heading.",)),
        Block("text", ("Another one:",)),
        Block("code", ("a sample", "  kept as it is")),
    )
    assert actions.blocks == (Block("list", ("first", "second, which goes on")),)


def test_a_section_is_found_by_its_heading() -> None:
    page = parse(DOCSTRING)
    source = page.section("Source")
    assert source is not None
    assert source.anchor == "source"
    assert page.section("Rewards") is None


def test_no_docstring_gives_an_empty_page() -> None:
    assert parse(None).summary == ""
    assert parse("").sections == ()
