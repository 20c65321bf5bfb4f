"""Responses from a server: that it draws from the policy's own distribution, and says the probabilities of that."""

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

from gem.rng import SplitMix64
from gem.training.failures import TrainingFailed
from gem.training.policy.policies import AutoPolicy, load_policy
from gem.training.policy.prompts import load_prompt_format
from gem.training.policy.sampler import Response, TransformersSampler
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train


class _Completions(BaseHTTPRequestHandler):
    """What vLLM does with these requests, for one small model."""

    server: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/load_lora_adapter"):
            return self._load(body["lora_name"], Path(body["lora_path"]))
        if self.path.endswith("/unload_lora_adapter"):
            del self.server.loaded[body["lora_name"]]
            return self._answer(200, {})
        if self.server.busy:
            self.server.busy -= 1
            return self._answer(503, {"message": "Too many requests are waiting."})
        self.server.asked.append(body)
        response = self._respond({**self.server.defaults, **body})
        logprobs = {"tokens": [f"token_id:{one}" for one in response.tokens], "token_logprobs": response.logps}
        return self._answer(200, {"choices": [{"text": "", "logprobs": logprobs, "finish_reason": "stop"}]})

    def _load(self, name: str, path: Path) -> None:
        if name in self.server.loaded:
            return self._answer(400, {"message": f"The lora adapter '{name}' has already been loaded."})
        policy = load_policy(str(self.server.model), lora_rank=4)
        policy.load_weights(path)
        self.server.loaded[name] = policy
        self.server.weights.append(load_file(path / "adapter_model.safetensors"))
        return self._answer(200, {})

    def _respond(self, body: dict[str, Any]) -> Response:
        policy: AutoPolicy = self.server.loaded[body["model"]]
        likeliest = body["top_k"] == 1
        sampler = TransformersSampler(policy, body["max_tokens"])
        temperature = 0.0 if likeliest else body["temperature"]
        (response,) = sampler.respond([body["prompt"]], [0], [SplitMix64(body["seed"])], temperature)
        if self.server.raw:
            tokens = response.tokens
            with torch.inference_mode():
                ids = torch.tensor([[*body["prompt"], *tokens[:-1]]])
                rows = policy.logits(policy.hidden(ids)[0, len(body["prompt"]) - 1 :]).log_softmax(-1)
            return response._replace(logps=[float(row[token]) for row, token in zip(rows, tokens, strict=True)])
        return response

    def _answer(self, status: int, data: dict[str, Any]) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 64


@pytest.fixture
def server(tiny: Path) -> Iterator[Any]:
    made: Any = _Server(("127.0.0.1", 0), _Completions)
    made.model, made.loaded, made.weights, made.asked = tiny, {}, [], []
    made.busy = 0
    made.raw = False  # as with --logprobs-mode processed_logprobs
    made.defaults = {"top_k": 1}  # of the model's generation_config.json
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def served(server: Any, small: dict[str, Any]) -> dict[str, Any]:
    """A specification whose responses the server writes."""
    url = f"http://127.0.0.1:{server.server_port}/v1"
    return {**small, "sampler": "server", "server_url": url, "lora_rank": 4, "updates": 2, "episodes": 8, "epochs": 1}


def test_it_writes_the_responses_with_the_newest_adapters(server: Any, served: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec(served), tmp_path)
    rows = RunFolder(tmp_path).metrics()
    assert rows[0]["invalid"] < 0.5  # it pulls arms: what it writes comes from the model
    first, last = server.weights[0], server.weights[-1]
    assert any(not torch.equal(tensor, last[name]) for name, tensor in first.items())
    # Before its step the learner finds the probabilities that the server said: also with the adapters of update 2.
    assert max(row["kl"] for row in rows) < 1e-5


def test_adapters_that_are_not_needed_any_more_are_unloaded_and_removed(
    server: Any, served: dict[str, Any], tmp_path: Path
) -> None:
    train(read_spec(served), tmp_path)
    assert len(server.weights) > 2
    assert [path.name for path in (tmp_path / "adapters").iterdir()] == list(server.loaded)
    assert len(server.loaded) == 1


def test_a_training_goes_on_with_a_server_that_has_its_earlier_adapters(served: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec(served), tmp_path)
    RunFolder(tmp_path).extend(read_spec({**served, "updates": 3}))
    assert train(read_spec({**served, "updates": 3}), tmp_path) == "finished"
    assert len(list((tmp_path / "adapters").iterdir())) == 1


def test_a_response_ends_where_the_policy_ends_it(server: Any, served: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec({**served, "updates": 1}), tmp_path)
    ends = sorted(load_prompt_format(server.model).stop_tokens)
    assert {(asked["ignore_eos"], *asked["stop_token_ids"]) for asked in server.asked} == {(True, *ends)}


def test_nothing_of_the_distribution_is_cut_off_by_the_defaults_of_a_model(
    served: dict[str, Any], tmp_path: Path
) -> None:
    train(read_spec({**served, "updates": 1, "episodes": 32}), tmp_path)
    episodes = (tmp_path / "episodes" / "000001.jsonl").read_text()
    assert len({arm for arm in "ABCD" if f"boxed{{{arm}}}" in episodes}) > 1  # the most probable arm alone, otherwise


@pytest.mark.parametrize("temperature", [0.7, pytest.param(1.5, marks=pytest.mark.long)])
def test_log_probabilities_at_another_temperature_are_refused(
    server: Any, served: dict[str, Any], temperature: float, tmp_path: Path
) -> None:
    assert train(read_spec({**served, "temperature": temperature}), tmp_path / "processed") == "finished"
    server.raw = True
    with pytest.raises(TrainingFailed, match="--logprobs-mode processed_logprobs"):
        train(read_spec({**served, "temperature": temperature}), tmp_path / "raw")
    assert train(read_spec({**served, "temperature": 1.0}), tmp_path / "plain") == "finished"


def test_a_server_with_another_model_is_refused(server: Any, served: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(server.model, tmp_path / "other")
    weights = load_file(tmp_path / "other" / "model.safetensors")
    weights["model.norm.weight"] *= 0.3
    save_file(weights, tmp_path / "other" / "model.safetensors", metadata={"format": "pt"})
    server.model = tmp_path / "other"
    with pytest.raises(TrainingFailed, match="from the policy's"):
        train(read_spec(served), tmp_path / "run")


def test_a_request_that_a_busy_server_refuses_is_sent_again(
    server: Any, served: dict[str, Any], tmp_path: Path
) -> None:
    server.busy = 3
    assert train(read_spec({**served, "updates": 1}), tmp_path) == "finished"
    assert server.busy == 0


def test_a_server_that_is_not_there_is_named(served: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="cannot be reached"):
        train(read_spec({**served, "server_url": "http://127.0.0.1:9/v1"}), tmp_path)
    assert RunFolder(tmp_path).state()["state"] == "failed"
