"""Responses from a server with the OpenAI completions interface, such as vLLM, while this process learns.

The server holds the base model; what is trained are adapters, which it loads anew after every update (vLLM:
`--enable-lora` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1). Prompts are sent as tokens and responses come back as tokens,
so nothing is lost between text and tokens. The adapters' folder must be one that the server can read.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from gem.draw import Source
from gem.errors import GemError, InvalidArgument
from gem.training.policy import AutoPolicy
from gem.training.sampler import Response

AT_ONCE = 64
"""Requests under way."""
SECONDS = 600.0
"""For one response."""
TOKEN = "token_id:"  # noqa: S105 (how the server writes a token's number)


class ServerFailed(GemError):
    """The server did not do what it was asked for; the message says what it said."""


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
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="gem-server")

    def refresh(self) -> None:
        """As `Sampler.refresh`: the server loads the adapters as they are now.

        Raises:
            ServerFailed: if it cannot.
        """
        self.version += 1
        place = self.adapters / self._name
        self.policy.model.save_pretrained(place, safe_serialization=True)
        self._post("/load_lora_adapter", {"lora_name": self._name, "lora_path": str(place.resolve())})
        if self.version > 1:
            self._post("/unload_lora_adapter", {"lora_name": f"update-{self.version - 1}"})

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], draws: Sequence[Source], temperature: float
    ) -> list[Response]:
        """As `Sampler.respond`; each draw becomes the seed of a request.

        Raises:
            ServerFailed: if a request fails.
        """
        seeds = [int(draw.random() * 2**31) for draw in draws]
        jobs = [
            self._threads.submit(self._respond, list(prompt), seed, temperature)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        return [job.result() for job in jobs]

    @property
    def _name(self) -> str:
        return f"update-{self.version}"

    def _respond(self, prompt: list[int], seed: int, temperature: float) -> Response:
        answer = self._post(
            "/completions",
            {
                "model": self._name,
                "prompt": prompt,
                "max_tokens": self.max_tokens,
                "temperature": temperature,
                "top_p": 1.0,
                "seed": seed,
                "logprobs": 1,
                "return_tokens_as_token_ids": True,
            },
        )
        try:
            choice = answer["choices"][0]
            tokens = [int(text.removeprefix(TOKEN)) for text in choice["logprobs"]["tokens"]]
            logps = [float(logp) for logp in choice["logprobs"]["token_logprobs"]]
            ended = tokens[-1] == self.policy.prompts.end
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ServerFailed("The server's answer has no tokens with log-probabilities; vLLM gives them.") from error
        return Response(tokens, logps, ended)

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
            raise ServerFailed(f"The server answered {error.code} to {path}: {said}") from error
        except OSError as error:
            raise ServerFailed(f"The server at {self.url} cannot be reached: {error}.") from error
        try:
            return dict(json.loads(content))
        except (ValueError, TypeError):
            return {}
