"""Responses from a server: a small one that does what vLLM does. `test_vllm.py` asks vLLM itself."""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from gem.draw import Mixer
from gem.training.policy import Policy, load_policy
from gem.training.prompts import load_prompts
from gem.training.run_folder import RunFolder
from gem.training.sampler import GenerateSampler
from gem.training.spec import TrainingSpec, read_spec
from gem.training.trainer import TrainingFailed, train


class _Completions(BaseHTTPRequestHandler):
    """What vLLM 0.32 does with these requests, for one small model (`test_vllm.py` asks vLLM itself)."""

    server: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        loaded = self.server.loaded
        if self.path.endswith("/load_lora_adapter"):
            if body["lora_name"] in loaded:
                return self._answer({"error": {"message": "has already been loaded"}}, 400)
            policy = load_policy(str(self.server.model), lora_rank=4)
            policy.read(Path(body["lora_path"]))
            loaded[body["lora_name"]] = policy
            self.server.seen.append(load_file(Path(body["lora_path"]) / "adapter_model.safetensors"))
            return self._answer({})
        if self.path.endswith("/unload_lora_adapter"):
            del loaded[body["lora_name"]]
            return self._answer({})
        self.server.asked.append(body)
        sampler = GenerateSampler(loaded[body["model"]], body["max_tokens"])
        (response,) = sampler.respond([body["prompt"]], [0], [Mixer(body["seed"])], body["temperature"])
        logps = response.logps
        if not self.server.processed:
            logps = self._plain(loaded[body["model"]], body["prompt"], response.tokens)
        logprobs = {"tokens": [f"token_id:{one}" for one in response.tokens], "token_logprobs": logps}
        return self._answer({"choices": [{"text": "", "logprobs": logprobs, "finish_reason": "stop"}]})

    @torch.no_grad()
    def _plain(self, policy: Policy, prompt: list[int], tokens: list[int]) -> list[float]:
        """The log-probabilities at temperature 1, whatever the tokens were drawn at."""
        logits = policy.logits(policy.hidden(torch.tensor([[*prompt, *tokens[:-1]]])))[0, len(prompt) - 1 :]
        said: list[float] = torch.log_softmax(logits, -1).gather(1, torch.tensor(tokens)[:, None])[:, 0].tolist()
        return said

    def _answer(self, data: dict[str, Any], status: int = 200) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tiny: Path) -> Iterator[ThreadingHTTPServer]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Completions)
    made.model, made.loaded, made.seen, made.asked, made.processed = tiny, {}, [], [], True
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def served(server: Any, small: dict[str, Any], **more: Any) -> TrainingSpec:
    url = f"http://127.0.0.1:{server.server_port}/v1"
    settings = {"sampler": "server", "server_url": url, "lora_rank": 4, "updates": 2, "episodes": 8, "epochs": 1}
    return read_spec({**small, **settings, **more})


def test_a_server_writes_the_responses_with_the_newest_adapters(
    server: Any, small: dict[str, Any], tmp_path: Path
) -> None:
    train(served(server, small), tmp_path)
    rows = RunFolder(tmp_path).metrics()
    assert rows[0]["invalid"] < 0.5  # it pulls arms: what it writes comes from the model
    first, second, *_ = server.seen
    assert any(not torch.equal(tensor, second[name]) for name, tensor in first.items())
    # Before its step the learner finds the probabilities that the server said: also with the adapters of update 2.
    assert max(row["kl"] for row in rows) < 1e-5


def test_of_older_adapters_nothing_stays(server: Any, small: dict[str, Any], tmp_path: Path) -> None:
    train(served(server, small), tmp_path)
    assert [path.name for path in (tmp_path / "adapters").iterdir()] == list(server.loaded)


def test_a_server_that_another_run_has_used_loads_the_adapters_of_the_next(
    server: Any, small: dict[str, Any], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        train(served(server, small, updates=1), tmp_path / name)
    assert len(server.loaded) == 2  # each name is new: servers keep what they computed by it


def test_nothing_is_left_to_what_the_server_samples_by_default(
    server: Any, small: dict[str, Any], tmp_path: Path
) -> None:
    train(served(server, small, updates=1), tmp_path)
    asked = server.asked[0]
    assert (asked["top_p"], asked["top_k"], asked["min_p"], asked["repetition_penalty"]) == (1.0, -1, 0.0, 1.0)
    assert asked["stop_token_ids"] == [load_prompts(server.model).end]
    assert asked["ignore_eos"] is True


def test_probabilities_of_another_temperature_are_refused(server: Any, small: dict[str, Any], tmp_path: Path) -> None:
    server.processed = False
    train(served(server, small, updates=1), tmp_path / "plain")  # at temperature 1 both are the same
    with pytest.raises(TrainingFailed, match="--logprobs-mode processed_logprobs"):
        train(served(server, small, temperature=0.5), tmp_path / "cool")
    assert not RunFolder(tmp_path / "cool").metrics()


def test_a_server_with_another_model_is_refused(server: Any, small: dict[str, Any], tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(server.model, other)
    weights = load_file(other / "model.safetensors")
    save_file({name: tensor * 2 for name, tensor in weights.items()}, other / "model.safetensors", {"format": "pt"})
    server.model = other
    with pytest.raises(TrainingFailed, match="has another model"):
        train(served(server, small), tmp_path / "run")


def test_a_server_that_is_not_there_is_named(small: dict[str, Any], tmp_path: Path) -> None:
    spec = {**small, "sampler": "server", "server_url": "http://127.0.0.1:9/v1", "lora_rank": 4, "episodes": 8}
    with pytest.raises(TrainingFailed, match="cannot be reached"):
        train(read_spec(spec), tmp_path)
    assert RunFolder(tmp_path).state()["state"] == "failed"
