"""Responses from a server with the OpenAI completions interface, such as vLLM, while this process learns.

The server holds the base model; what is trained are adapters, which it loads anew after every update (vLLM:
`--enable-lora` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1). Prompts are sent as tokens and responses come back as tokens,
so nothing is lost between text and tokens. The adapters' folder must be one that the server can read.

What a response is learned from is its probability, so the server has to draw from the distribution that the learner
knows, and to say the log-probability in it. Whatever a model's own configuration would cut off or penalize is therefore
turned off in every request, and the first responses are compared with what the policy says of them.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import torch

from gem.errors import GemError, InvalidArgument
from gem.rng import RandomSource
from gem.training.policy.policies import AutoPolicy
from gem.training.policy.sampler import Response

logger = logging.getLogger(__name__)

AT_ONCE = 64
"""Requests under way."""
SECONDS = 600.0
"""For one response."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a response is asked for again, where the connection broke or the server has too much to do."""
BUSY = (429, 502, 503, 504)
TOKEN = "token_id:"  # noqa: S105 (how the server writes a token's number)
WHOLE = {
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""Nothing cut off and nothing penalized. vLLM takes what a request leaves open from the model's generation_config.json:
Qwen3's has top_k 20."""
COMPARED, COMPARED_TOKENS = 8, 256
"""So many responses, and tokens of each, are compared with what the policy says of them."""
FAR = 0.2
"""Nats by which a token's log-probability differs, on average, from where it is another model's. Kernels of bfloat16
differ by a few hundredths."""


class ServerFailed(GemError):
    """The server did not do what it was asked for; the message says what it said."""


class _Busy(ServerFailed):
    """It may be otherwise in a moment."""


class ServerSampler:
    """Asks a server for every response, many at once.

    Args:
        url: of the interface, such as `http://127.0.0.1:8001/v1`.
        adapters: the folder in which the server finds the adapters of each update.

    Raises:
        InvalidArgument: if the policy has no adapters, or the address is none of HTTP.
    """

    def __init__(self, policy: AutoPolicy, url: str, adapters: Path, max_tokens: int) -> None:
        if not policy.has_adapters:
            raise InvalidArgument("A server can follow a training of adapters only: set lora_rank.")
        if not url.startswith(("http://", "https://")):
            raise InvalidArgument(f"server_url begins with http:// or https://, not as in {url!r}.")
        self.policy, self.url, self.adapters, self.max_tokens = policy, url.rstrip("/"), adapters, max_tokens
        self.version = 0
        self._run = uuid.uuid4().hex[:12]
        self._compared = False
        shutil.rmtree(adapters, ignore_errors=True)  # of a process that was here before
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="gem-server")

    def refresh(self) -> None:
        """As `Sampler.refresh`: the server loads the adapters as they are now, under a name that it has never had.

        Raises:
            ServerFailed: if it cannot.
        """
        before = self._name
        self.version += 1
        place = self.adapters / self._name
        self.policy.model.save_pretrained(place, safe_serialization=True)
        self._post("/load_lora_adapter", {"lora_name": self._name, "lora_path": str(place.resolve())})
        if self.version > 1:
            self._post("/unload_lora_adapter", {"lora_name": before})
            shutil.rmtree(self.adapters / before, ignore_errors=True)

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], draws: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """As `Sampler.respond`; each draw becomes the seed of a request.

        Raises:
            ServerFailed: if a request fails, or the first responses have other probabilities than the policy's.
        """
        seeds = [int(draw.random() * 2**31) for draw in draws]
        jobs = [
            self._threads.submit(self._respond, list(prompt), seed, temperature)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        responses = [job.result() for job in jobs]
        if not self._compared:
            self._compare(prompts[:COMPARED], responses[:COMPARED], temperature)
            self._compared = True
        return responses

    @property
    def _name(self) -> str:
        return f"{self._run}-{self.version}"

    def _respond(self, prompt: list[int], seed: int, temperature: float) -> Response:
        answer = self._ask(
            {
                "model": self._name,
                "prompt": prompt,
                "max_tokens": self.max_tokens,
                "temperature": temperature,
                **WHOLE,
                "ignore_eos": True,  # the model's own list of such tokens; these end a response:
                "stop_token_ids": sorted(self.policy.prompts.ends),
                "seed": seed,
                "logprobs": 1,
                "return_tokens_as_token_ids": True,
            }
        )
        try:
            choice = answer["choices"][0]
            tokens = [int(text.removeprefix(TOKEN)) for text in choice["logprobs"]["tokens"]]
            logps = [float(logp) for logp in choice["logprobs"]["token_logprobs"]]
            ended = tokens[-1] in self.policy.prompts.ends
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ServerFailed("The server's answer has no tokens with log-probabilities; vLLM gives them.") from error
        return Response(tokens, logps, ended)

    def _ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer, at the last of some tries; its seed makes each of them the same request."""
        for pause in PAUSES:
            try:
                return self._post("/completions", body)
            except _Busy as error:
                logger.warning("asking again in %s s: %s", pause, error)
                time.sleep(pause)
        return self._post("/completions", body)

    @torch.inference_mode()
    def _compare(self, prompts: Sequence[Sequence[int]], responses: Sequence[Response], temperature: float) -> None:
        """Whether the server's log-probabilities are the policy's, at the temperature of the draws.

        Raises:
            ServerFailed: if they are not.
        """
        device = next(self.policy.parameters()).device
        drawn, plain, count = 0.0, 0.0, 0
        for prompt, response in zip(prompts, responses, strict=True):
            tokens = response.tokens[:COMPARED_TOKENS]
            tokens_N = torch.tensor(tokens, device=device)
            said_N = torch.tensor(response.logps[: len(tokens)], device=device)
            ids_BT = torch.tensor([[*prompt, *tokens[:-1]]], device=device)
            logits_NV = self.policy.logits(self.policy.hidden(ids_BT)[0, len(prompt) - 1 :]).float()
            away = [
                (torch.log_softmax(logits_NV / heat, -1).gather(1, tokens_N[:, None])[:, 0] - said_N).abs().sum()
                for heat in (temperature or 1.0, 1.0)
            ]
            drawn, plain, count = drawn + float(away[0]), plain + float(away[1]), count + len(tokens)
        if plain < 0.8 * drawn:
            raise ServerFailed(
                f"The server says log-probabilities at temperature 1 of responses that it draws at {temperature}. "
                "Start vLLM with --logprobs-mode processed_logprobs, or train with temperature=1."
            )
        if drawn > FAR * count:
            raise ServerFailed(
                f"The server's log-probabilities are {drawn / count:.2f} nats a token from the policy's: it has to "
                "hold the very model that is trained, and to load adapters of this rank (--max-lora-rank)."
            )

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        data = json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 (whoever starts a training names the server; its scheme is checked)
            self.url + path, data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
                content = answer.read()
        except urllib.error.HTTPError as error:
            said = error.read()[:500].decode(errors="replace")
            kind = _Busy if error.code in BUSY else ServerFailed
            raise kind(f"The server answered {error.code} to {path}: {said}") from error
        except (OSError, HTTPException) as error:
            raise _Busy(f"The server at {self.url} cannot be reached: {error}.") from error
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError):
            return {}
