"""The datasets behind our environments, by id: where on the hub they are, and what stands in for them.

The repositories, splits and columns are those that GEM 0.1.0 names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """A dataset that an environment draws from."""

    repository: str
    """`owner/name` on the Hugging Face hub."""
    split: str = ""
    """Its part; empty where the repository has only one."""
    sample: str = ""
    """The built-in sample that stands in for it: a file of `gem/datasets/samples`, without its ending."""


def _search(split: str, sample: str) -> Named:
    return Named("axon-rl/search-eval", split, sample)


NAMED: Mapping[str, Named] = {
    "math:ASDiv2K": Named("axon-rl/ASDIV-2k", sample="asdiv2k"),
    "math:GSM8K": Named("axon-rl/GSM-8k", sample="gsm8k"),
    "math:Math12K": Named("axon-rl/MATH-12k", sample="math12k"),
    "math:Math8K-3to5": Named("axon-rl/MATH-lvl3to5-8k", sample="math8k"),
    "math:Orz57K": Named("axon-rl/ORZ-57k", sample="orz57k"),
    "math:DeepScaleR40K": Named("axon-rl/DeepScaleR-40K", sample="deepscaler40k"),
    "math:Geometry3K": Named("axon-rl/geometry3k", "train", "geometry3k"),
    "code:CodeContest": Named("axon-rl/CodeContest", "train", "code"),
    "code:Taco8k": Named("axon-rl/TACO-8k", "train", "code"),
    "code:PrimeIntellect15k": Named("axon-rl/PrimeIntellect-15k", "train", "code"),
    **{
        f"logic:RuleTaker-d{d}": Named(f"axon-rl/RuleTaker-d{d}-70k", "train", f"ruletaker-d{d}")
        for d in (0, 1, 2, 3, 5)
    },
    "qa:NaturalQuestions": Named("axon-rl/NaturalQuestions", "train", "natural-questions"),
    "qa:HotpotQA": Named("axon-rl/HotpotQA", "train", "hotpotqa"),
    "eval:MATH500": Named("axon-rl/math-eval", "math", "math500"),
    "eval:AMC": Named("axon-rl/math-eval", "amc", "amc"),
    "eval:OlympiadBench": Named("axon-rl/math-eval", "olympiad_bench", "olympiad-bench"),
    "eval:Minerva": Named("axon-rl/math-eval", "minerva", "minerva"),
    "eval:AIME24": Named("axon-rl/math-eval", "aime24", "aime24"),
    "eval:CodeContest": Named("axon-rl/CodeContest", "test", "code"),
    "eval:QaOpen": Named("google-research-datasets/nq_open", "validation", "qa-open"),
    "eval:2Wiki": _search("2wiki", "2wiki"),
    "eval:PopQA": _search("popqa", "popqa"),
    "eval:TriviaQA": _search("tq", "triviaqa"),
    "eval:HotpotQA": _search("hotpotqa", "hotpotqa-eval"),
    "eval:Bamboogle": _search("bamboogle", "bamboogle"),
    "eval:NaturalQuestions": _search("nq", "natural-questions-eval"),
    "eval:Musique": _search("musique", "musique"),
}
"""Environment id to its dataset."""
