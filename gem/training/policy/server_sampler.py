"""Responses from a server with the OpenAI completions interface, such as vLLM, while this process learns.

The server holds the base model. Only adapters are trained, and the server loads them again after every update (vLLM:
`--enable-lora` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1). Prompts are sent as tokens and responses come back as tokens,
so nothing is lost between text and tokens. The server must be able to read the adapters' folder.

The learner weights a response by its probability, so the server has to draw from the distribution that the learner
computes, and to report log-probabilities in it. Therefore every request turns off whatever a model's own configuration
would cut off or penalize, and the first responses are compared with the log-probabilities that the policy computes.
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

MAX_CONCURRENT_REQUESTS = 64
TIMEOUT_SECONDS = 600.0
"""How long one response may take."""
RETRY_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry, where the connection broke or the server is overloaded."""
RETRYABLE_STATUSES = (429, 502, 503, 504)
TOKEN_ID_PREFIX = "token_id:"  # noqa: S105 (not a password)
"""What the server writes before the number of a token."""
UNMODIFIED_SAMPLING = {
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
"""Settings with which nothing is cut off and nothing is penalized. vLLM takes what a request leaves open from the
model's generation_config.json: Qwen3's has top_k 20."""
COMPARED_RESPONSES = 8
"""How many of the first responses are compared with the policy."""
COMPARED_TOKENS = 256
"""How many tokens of each are compared."""
MAX_MEAN_DIFFERENCE = 0.2
"""The mean difference of a token's log-probability, in nats, above which the server is taken to hold another model.
bfloat16 kernels differ by a few hundredths."""


class ServerFailed(GemError):
    """The server did not carry out a request; the message contains its answer."""


class _ServerBusy(ServerFailed):
    """The server could not be reached or is overloaded, so that a retry may succeed."""


class ServerSampler:
    """Requests every response from a server, many concurrently.

    Args:
        url: the interface's address, such as `http://127.0.0.1:8001/v1`.
        adapters: the folder in which the server finds the adapters of each update.
        max_tokens: the most tokens of a response.

    Raises:
        InvalidArgument: if the policy has no adapters, or the address does not begin with http:// or https://.
    """

    def __init__(self, policy: AutoPolicy, url: str, adapters: Path, max_tokens: int) -> None:
        if not policy.has_adapters:
            raise InvalidArgument("A server can follow a training of adapters only: set lora_rank.")
        if not url.startswith(("http://", "https://")):
            raise InvalidArgument(f"server_url begins with http:// or https://, not as in {url!r}.")
        self.policy, self.url, self.adapters, self.max_tokens = policy, url.rstrip("/"), adapters, max_tokens
        self.version = 0
        self._run = uuid.uuid4().hex[:12]
        self._is_verified = False
        shutil.rmtree(adapters, ignore_errors=True)  # those of an earlier process
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS, thread_name_prefix="gem-server")

    def refresh(self) -> None:
        """Have the server load the adapters as they are now, under a new name.

        Raises:
            ServerFailed: if the server cannot load them.
        """
        previous_name = self._adapter_name
        self.version += 1
        path = self.adapters / self._adapter_name
        self.policy.model.save_pretrained(path, safe_serialization=True)
        self._post("/load_lora_adapter", {"lora_name": self._adapter_name, "lora_path": str(path.resolve())})
        if self.version > 1:
            self._post("/unload_lora_adapter", {"lora_name": previous_name})
            shutil.rmtree(self.adapters / previous_name, ignore_errors=True)

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """See `Sampler.respond`; the seed of each request is drawn from its random number generator.

        Raises:
            ServerFailed: if a request fails, or the log-probabilities of the first responses are not the policy's.
        """
        seeds = [int(rng.random() * 2**31) for rng in rngs]
        futures = [
            self._threads.submit(self._respond, list(prompt), seed, temperature)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        responses = [future.result() for future in futures]
        if not self._is_verified:
            self._verify(prompts[:COMPARED_RESPONSES], responses[:COMPARED_RESPONSES], temperature)
            self._is_verified = True
        return responses

    @property
    def _adapter_name(self) -> str:
        return f"{self._run}-{self.version}"

    def _respond(self, prompt: list[int], seed: int, temperature: float) -> Response:
        stop_tokens = self.policy.prompt_format.stop_tokens
        completion = self._complete(
            {
                "model": self._adapter_name,
                "prompt": prompt,
                "max_tokens": self.max_tokens,
                "temperature": temperature,
                **UNMODIFIED_SAMPLING,
                "ignore_eos": True,  # ignores the model's own end tokens; only these end a response:
                "stop_token_ids": sorted(stop_tokens),
                "seed": seed,
                "logprobs": 1,
                "return_tokens_as_token_ids": True,
            }
        )
        try:
            choice = completion["choices"][0]
            tokens = [int(text.removeprefix(TOKEN_ID_PREFIX)) for text in choice["logprobs"]["tokens"]]
            logps = [float(logp) for logp in choice["logprobs"]["token_logprobs"]]
            is_complete = tokens[-1] in stop_tokens
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ServerFailed("The server's answer has no tokens with log-probabilities; vLLM gives them.") from error
        return Response(tokens, logps, is_complete)

    def _complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Request a completion, with retries; because of the seed, every retry is the same request."""
        for delay in RETRY_DELAYS:
            try:
                return self._post("/completions", body)
            except _ServerBusy as error:
                logger.warning("retrying in %s s: %s", delay, error)
                time.sleep(delay)
        return self._post("/completions", body)

    @torch.inference_mode()
    def _verify(self, prompts: Sequence[Sequence[int]], responses: Sequence[Response], temperature: float) -> None:
        """Compare the server's log-probabilities with the policy's, at the temperature of sampling.

        Raises:
            ServerFailed: if they differ.
        """
        device = next(self.policy.parameters()).device
        difference, difference_at_1, count = 0.0, 0.0, 0
        for prompt, response in zip(prompts, responses, strict=True):
            tokens = response.tokens[:COMPARED_TOKENS]
            tokens_N = torch.tensor(tokens, device=device)
            server_logps_N = torch.tensor(response.logps[: len(tokens)], device=device)
            ids_BT = torch.tensor([[*prompt, *tokens[:-1]]], device=device)
            logits_NV = self.policy.logits(self.policy.hidden(ids_BT)[0, len(prompt) - 1 :]).float()
            at_temperature, at_1 = (
                (torch.log_softmax(logits_NV / divisor, -1).gather(1, tokens_N[:, None])[:, 0] - server_logps_N)
                .abs()
                .sum()
                for divisor in (temperature or 1.0, 1.0)
            )
            difference += float(at_temperature)
            difference_at_1 += float(at_1)
            count += len(tokens)
        if difference_at_1 < 0.8 * difference:
            raise ServerFailed(
                f"The server reports log-probabilities at temperature 1 of responses that it draws at {temperature}. "
                "Start vLLM with --logprobs-mode processed_logprobs, or train with temperature=1."
            )
        if difference > MAX_MEAN_DIFFERENCE * count:
            raise ServerFailed(
                f"The server's log-probabilities are {difference / count:.2f} nats a token from the policy's: it has "
                "to hold the very model that is trained, and to load adapters of this rank (--max-lora-rank)."
            )

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        data = json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 (whoever starts a training names the server; its scheme is checked)
            self.url + path, data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
                content = response.read()
        except urllib.error.HTTPError as error:
            body_text = error.read()[:500].decode(errors="replace")
            error_type = _ServerBusy if error.code in RETRYABLE_STATUSES else ServerFailed
            raise error_type(f"The server answered {error.code} to {path}: {body_text}") from error
        except (OSError, HTTPException) as error:
            raise _ServerBusy(f"The server at {self.url} cannot be reached: {error}.") from error
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError):
            return {}
