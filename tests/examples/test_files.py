"""What every example says of itself, and those that need nothing besides this package."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gem

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name not in ("__init__.py", "tiny_model.py"))
CHECKED = re.compile(
    r"^Checked: (run on CPU in tests(?: \(\w+ [\d.]+\))?|interface checked against [\w-]+ [\d.]+|"
    r"not run: needs \d+ GPUs)\.$",
    re.MULTILINE,
)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_says_how_it_was_checked_and_so_does_the_table(path: Path) -> None:
    said = CHECKED.findall(ast.get_docstring(ast.parse(path.read_text())) or "")
    assert len(said) == 1
    rows = [line for line in (ROOT / "examples/README.md").read_text().splitlines() if f"]({path.name})" in line]
    assert len(rows) == 1
    assert rows[0].rstrip(" |").endswith(said[0])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 180


def test_the_new_environment_is_solved_by_its_own_agent_and_seldom_by_chance() -> None:
    lines = run("from examples.register_new_env import main; main()").splitlines()
    solved = {line.partition(":")[0]: int(line.split()[1]) for line in lines}
    assert solved["lamps"] == 200
    assert solved["random"] < 100


def test_the_new_environment_keeps_every_promise() -> None:
    command = [sys.executable, "-m", "gem.cli", "check", "--module", "examples.register_new_env"]
    for env_id in ("game:RowOfLamps-v0", "game:RowOfLamps-v0-hard"):
        done = subprocess.run([*command, env_id], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_roll_makes_resets_and_steps_ours_as_its_managers_do() -> None:
    """The calls of ROLL's environment managers, in the order in which they come."""
    turns = run(
        "import examples.roll_env, gem, json\n"
        "env = gem.make(env_id='gem_with_metrics', **{'name': 'game:GuessTheNumber-v0-easy', 'max_turns': 4})\n"
        "observation, info = env.reset(seed=2**31 - 1 + 7)\n"
        "history, over = [], False\n"
        "while not over:\n"
        "    observation, reward, terminated, truncated, info = env.step(action='\\\\boxed{3}')\n"
        "    info.pop('suffix', None)\n"
        "    history.append({'metrics': info['metrics'], 'mode': info['metrics_agg_mode']})\n"
        "    over = terminated or truncated\n"
        "print(json.dumps([history, info['success'], gem.spec('gem_with_metrics').category]))\n"
    )
    history, success, category = json.loads(turns)
    assert category == "custom"
    assert history[-1]["metrics"]["success"] is success
    assert set(history[0]["mode"]) <= set(history[0]["metrics"])
    assert history[0]["metrics"]["action_is_valid"] is True


def test_the_environments_that_the_examples_name_are_registered() -> None:
    for path in FILES:
        for env_id in re.findall(r'^ENV_ID = .*"([^"]+)"\)?$', path.read_text(), re.MULTILINE):
            assert env_id in gem.registry.ENV_REGISTRY or path.stem == "register_new_env"
