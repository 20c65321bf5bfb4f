"""Real datasets through the environments; they are not part of this repository (`GEM_TEST_DATA` names their folder)."""

import os
from pathlib import Path

import pytest

import gem

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("GEM_TEST_DATA", ROOT.parent / "shared" / "data"))
FILES = {
    "asdiv_2k/train.jsonl": ("math:ASDiv2K", 1788),
    "gsm8k/test.jsonl": ("math:GSM8K", 1319),
    "math_eval/aime24.jsonl": ("eval:AIME24", 30),
    "math_eval/amc.jsonl": ("eval:AMC", 83),
    "math_eval/math.jsonl": ("eval:MATH500", 500),
    "math_eval/minerva.jsonl": ("eval:Minerva", 272),
    "math_eval/olympiad_bench.jsonl": ("eval:OlympiadBench", 675),
    "hotpotqa/questions.jsonl": ("qa:HotpotQA", 100),
    "bamboogle/test.csv": ("eval:Bamboogle", 125),
}
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="GEM_TEST_DATA names no folder of real datasets")


@pytest.mark.parametrize("name", FILES)
def test_every_reference_solves_its_problem_and_a_wrong_answer_does_not(name: str) -> None:
    env_id, rows = FILES[name]
    env = gem.make(env_id, dataset=str(FOLDER / name))
    assert len(env.dataset) == rows
    form = "<answer>{}</answer>" if "qa" in env_id.lower() or env_id == "eval:Bamboogle" else "\\boxed{{{}}}"
    for seed in range(rows):
        observation, _ = env.reset(seed=seed)
        assert observation
        reference = env.problem[env.answer_key]
        first = reference[0] if isinstance(reference, list) else reference
        assert env.step(form.format(first))[1] == 1, reference
        env.reset(seed=seed)
        assert env.step(form.format("31415926"))[1] == 0, reference
