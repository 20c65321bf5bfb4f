"""The datasets of our environments, by id: where they are on the hub, and which built-in sample replaces them.

The repositories, splits and columns are those of GEM 0.1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """The dataset of an environment."""

    repository: str
    """`owner/name` on the Hugging Face hub."""
    split: str = ""
    """The split; empty if the repository has only one."""
    sample: str = ""
    """The built-in sample that replaces it: a file of `gem/datasets/samples`, without its extension."""


def _search_eval(split: str, sample: str) -> NamedDataset:
    return NamedDataset("axon-rl/search-eval", split, sample)


NAMED_DATASETS: Mapping[str, NamedDataset] = {
    "math:ASDiv2K": NamedDataset("axon-rl/ASDIV-2k", sample="asdiv2k"),
    "math:GSM8K": NamedDataset("axon-rl/GSM-8k", sample="gsm8k"),
    "math:Math12K": NamedDataset("axon-rl/MATH-12k", sample="math12k"),
    "math:Math8K-3to5": NamedDataset("axon-rl/MATH-lvl3to5-8k", sample="math8k"),
    "math:Orz57K": NamedDataset("axon-rl/ORZ-57k", sample="orz57k"),
    "math:DeepScaleR40K": NamedDataset("axon-rl/DeepScaleR-40K", sample="deepscaler40k"),
    "math:Geometry3K": NamedDataset("axon-rl/geometry3k", "train", "geometry3k"),
    "code:CodeContest": NamedDataset("axon-rl/CodeContest", "train", "code"),
    "code:Taco8k": NamedDataset("axon-rl/TACO-8k", "train", "code"),
    "code:PrimeIntellect15k": NamedDataset("axon-rl/PrimeIntellect-15k", "train", "code"),
    **{
        f"logic:RuleTaker-d{d}": NamedDataset(f"axon-rl/RuleTaker-d{d}-70k", "train", f"ruletaker-d{d}")
        for d in (0, 1, 2, 3, 5)
    },
    "qa:NaturalQuestions": NamedDataset("axon-rl/NaturalQuestions", "train", "natural-questions"),
    "qa:HotpotQA": NamedDataset("axon-rl/HotpotQA", "train", "hotpotqa"),
    "eval:MATH500": NamedDataset("axon-rl/math-eval", "math", "math500"),
    "eval:AMC": NamedDataset("axon-rl/math-eval", "amc", "amc"),
    "eval:OlympiadBench": NamedDataset("axon-rl/math-eval", "olympiad_bench", "olympiad-bench"),
    "eval:Minerva": NamedDataset("axon-rl/math-eval", "minerva", "minerva"),
    "eval:AIME24": NamedDataset("axon-rl/math-eval", "aime24", "aime24"),
    "eval:CodeContest": NamedDataset("axon-rl/CodeContest", "test", "code"),
    "eval:QaOpen": NamedDataset("google-research-datasets/nq_open", "validation", "qa-open"),
    "eval:2Wiki": _search_eval("2wiki", "2wiki"),
    "eval:PopQA": _search_eval("popqa", "popqa"),
    "eval:TriviaQA": _search_eval("tq", "triviaqa"),
    "eval:HotpotQA": _search_eval("hotpotqa", "hotpotqa-eval"),
    "eval:Bamboogle": _search_eval("bamboogle", "bamboogle"),
    "eval:NaturalQuestions": _search_eval("nq", "natural-questions-eval"),
    "eval:Musique": _search_eval("musique", "musique"),
}
"""Environment id to its dataset."""
