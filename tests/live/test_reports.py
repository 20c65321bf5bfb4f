"""What other harnesses send with their own packages, unmodified: verifiers' upload, and logs written by Inspect."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gem.transcripts import read
from tests.installed import environment
from tests.live.processes import Fleet

UPLOAD = """
import prime_runs as pr

about = {"name": "stock", "model": "qwen", "framework": "verifiers", "config": {"n": 2}}
run = pr.init(mode="online", environments=["wordle"], **about)
said = [{"role": "user", "content": "Guess."}, {"role": "assistant", "content": "crane"}]
rows = [{"sample_id": str(n), "example_id": n, "completion": said, "reward": n / 2} for n in range(3)]
run.log_episodes(rows)
run.finish(summary={"reward": 0.5})
"""
SECONDS = 300


@pytest.mark.long
def test_the_upload_of_verifiers_arrives(fleet: Fleet, tmp_path: Path) -> None:
    from apps.accounts.models import User
    from apps.api import operations
    from apps.reported.models import ReportedEvaluation

    _, secret = operations.make_token(User.objects.create_user("ada"), "verifiers", ["submit"])
    web = fleet.web()
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PRIME_API_KEY": secret, "PRIME_TRACES_OPT_OUT": "1",
        "PRIME_API_BASE_URL": f"http://127.0.0.1:{web.port}/prime",
    }  # fmt: skip
    python = environment("prime-runs") / "python"
    sent = subprocess.run([python, "-c", UPLOAD], env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert sent.returncode == 0, sent.stderr[-2000:]
    row = ReportedEvaluation.objects.get()
    assert (row.name, row.model, row.environments, row.state) == ("stock", "qwen", ["wordle"], "done"), sent.stderr
    assert (row.episodes, row.mean_reward) == (3, 0.5)


@pytest.mark.long
def test_logs_are_read_as_inspect_itself_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="Inspect packs its logs with Zstandard")
    python = environment("inspect") / "python"
    writer = Path(__file__).with_name("inspect_writer.py")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    told = subprocess.run(
        [python, writer, tmp_path], env=env, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    for path, texts in json.loads(told.stdout.splitlines()[-1]).items():
        header, transcripts = read(Path(path))
        found = list(transcripts)
        assert (header.name, header.model, header.metrics) == ("sums", "mockllm/model", {"includes/accuracy": 0.5})
        assert [message.content for message in found[0].messages] == texts[0]
        assert found[0].messages[-1].reasoning == "Two and two."
        assert [(one.reward, one.solved) for one in found] == [(1.0, True), (0.0, False)]
