"""The lens computes advantages in the browser while its slider moves: the same as `gem.credit`."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright._impl._driver import compute_driver_executable

from gem import credit
from tests.services import ROOT

SCRIPT = """
import { gae, grpo, moments, rebn } from "./credit.mjs";
let said = "";
for await (const part of process.stdin) said += part;
console.log(JSON.stringify(JSON.parse(said).map(({ batch, values, discount }) => {
  const [own, ...others] = batch;
  return {
    rebn: rebn(own, others, discount), grpo: grpo(own, others), gae: gae(own, values, discount, 0.95),
    moments: Object.values(moments(own)),
  };
})));
"""


def in_the_browser(cases: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """What the functions of the page return for each batch, run by the Node of Playwright."""
    shutil.copy(ROOT / "static/js/lens/credit.js", folder / "credit.mjs")
    (folder / "script.mjs").write_text(SCRIPT)
    node = compute_driver_executable()[0]
    command = [node, folder / "script.mjs"]
    ran = subprocess.run(command, check=False, input=json.dumps(cases), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    results: list[dict[str, Any]] = json.loads(ran.stdout)
    return results


def test_advantages_are_those_of_the_engine(tmp_path: Path) -> None:
    draw = random.Random(7)
    kinds = ([0.0, 1.0], [0.1, 0.2, 0.3], [0.1], [-1.0, 0.5, 2.0])  # sums of 0.1 differ in their last digit
    cases = []
    for _ in range(60):
        rewards = draw.choice(kinds)
        batch = [draw.choices(rewards, k=draw.randint(1, 5)) for _ in range(draw.randint(2, 4))]
        values = [draw.random() for _ in batch[0]]
        cases.append({"batch": batch, "values": values, "discount": draw.choice([0.5, 0.9, 1.0])})
    cases.append({"batch": [[0.1, 0.2], [0.3]], "values": [0.0, 0.0], "discount": 1.0})
    for case, result in zip(cases, in_the_browser(cases, tmp_path), strict=True):
        batch, discount = case["batch"], case["discount"]
        togo = [credit.returns_to_go(rewards, discount) for rewards in batch]
        totals = [sum(rewards) for rewards in batch]
        relative = credit.group_relative(totals, [0] * len(batch))[0]
        assert result["moments"] == pytest.approx(list(credit.moments(batch[0])), abs=1e-9)
        assert result["rebn"] == pytest.approx(credit.normalize(togo)[0], abs=1e-6)
        assert result["grpo"] == pytest.approx([relative] * len(batch[0]), abs=1e-6)
        assert result["gae"] == pytest.approx(credit.gae(batch[0], case["values"], discount, 0.95), abs=1e-9)
    assert result["grpo"] == [0, 0], "returns that only rounding tells apart are equal"
