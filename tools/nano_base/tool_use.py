"""Questions that are answered after a tool was used: what `nano-tools` has seen, and a part of what
`nano-large` and `nano-reader` have."""

from __future__ import annotations

from tools.nano_base.source import Source

PYTHON = ((("name", "python_tool_no_int_reward"),),)
SEARCH = (
    (
        ("name", "search_tool_no_int_reward"),
        ("tools", [{"name": "search", "index": "wikigame", "topk": 1}]),
    ),
)
TWO_LONG_FACTORS = (("config", {"min_terms": 2, "max_terms": 2, "min_digits": 3, "max_digits": 3}),)
TOOLS = (
    Source("rg:products", 300, True, TWO_LONG_FACTORS, "with Python", PYTHON),
    Source("rg:chain_sum", 200, True, (), "with Python", PYTHON),
    Source("math:Drawn-v0-easy", 300, True, (), "with Python", PYTHON),
    Source("qa:NaturalQuestions", 1500, True, (), "with search", SEARCH),
    Source("qa:HotpotQA", 500, True, (), "with search", SEARCH),
)
"""Questions that are answered after a tool was used, with whatever it was asked."""


def _operands(digits: int) -> tuple[tuple[str, object], ...]:
    return (("config", {"min_terms": 2, "max_terms": 2, "min_digits": digits, "max_digits": digits}),)


TOOL_SOURCES = (
    *(Source("rg:products", 1500, True, _operands(digits), "with Python", PYTHON, copies=True) for digits in (2, 3)),
    *(Source("rg:chain_sum", 750, True, _operands(digits), "with Python", PYTHON, copies=True) for digits in (2, 3)),
    Source("qa:NaturalQuestions", 3500, True, (), "with search", SEARCH, copies=True),
)
"""What `nano-tools` has seen."""
READER_SOURCES = (
    Source("qa:NaturalQuestions", 3000, True, (("dataset", "sample:wiki-questions"),), "span", SEARCH),
    Source("code:Drawn-v0-easy", 3000, True, (), "program"),
)
"""What `nano-reader` has played."""
