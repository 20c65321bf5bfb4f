"""An example trains with TRL against an environment that lives on a site, and its curve appears there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed import environment
from tests.live.processes import Fleet, wait_for
from tests.packages import skip_without

skip_without("torch", "trl", "datasets")
ROOT = Path(__file__).parents[2]
UPDATES, GROUPS = 2, 64


@pytest.mark.long
@pytest.mark.parametrize(
    ("example", "metric"),
    [
        ("trl_rollout_func", "train/rewards/reward/mean"),
        ("trl_environment_factory", "train/rewards/Episode/mean"),
    ],
)
def test_it_trains_against_a_site_and_its_curve_is_there(
    fleet: Fleet, tmp_path: Path, example: str, metric: str
) -> None:
    from apps.accounts.models import User
    from apps.api import operations
    from apps.curves.models import OutsideTraining
    from apps.curves.reading import values_of
    from apps.episodes.models import Episode

    web, owner = fleet.web(), User.objects.create_user("ada")
    _, secret = operations.make_token(owner, "trainer", ["play", "submit"])
    site = f"127.0.0.1:{web.port}"
    trackio = next((environment("trackio").parent / "lib").glob("python3*/site-packages"))
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GEM_ENV_ID": f"openenv:http://{site}/openenv/game:GuessTheNumber-v0-easy",
        "GEMWEB_URL": f"http://{site}",
        "GEMWEB_TOKEN": secret,
        "TRACKIO_SERVER_URL": f"http://{site}/trackio/ada?write_token={secret}",
        "TRACKIO_DIR": str(tmp_path / "trackio"),
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    run = f"import sys; sys.path.append({str(trackio)!r}); from examples.{example} import main; main()"
    command = [sys.executable, "-c", run, "--tiny", "--curve", "--steps", str(UPDATES)]
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    training = OutsideTraining.objects.get(owner=owner)
    assert (training.name, training.project) == (example, "examples")
    rewards = values_of(training, metric)
    assert len(rewards) == UPDATES
    wait_for(lambda: Episode.objects.filter(seats__user=owner).count() >= UPDATES * GROUPS, "the episodes")
    assert any(rewards), "some numbers are guessed, or come close"
