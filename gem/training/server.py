"""Responses from a server with the OpenAI completions interface, such as vLLM, while this process learns.

The server holds the base model; what is trained are adapters, which it loads anew after every update (vLLM:
`--enable-lora` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1). Prompts are sent as tokens and responses come back as tokens,
so nothing is lost between text and tokens. The adapters' folder must be one that the server can read.

vLLM says the probabilities of the model as it is unless it is started with `--logprobs-mode processed_logprobs`; at a
temperature other than 1 they are not those that a token was drawn with. The first responses are therefore computed
here as well, and a server that says others is refused.
"""

from __future__ import annotations

import json
import secrets
import shutil
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from gem.draw import Source
from gem.errors import GemError, InvalidArgument
from gem.training.policy import AutoPolicy
from gem.training.sampler import Response

AT_ONCE = 64
"""Requests under way."""
SECONDS = 600.0
"""For one response."""
TOKEN = "token_id:"  # noqa: S105 (how the server writes a token's number)
CHECKED = 8, 128
"""Of the first responses so many are computed here as well, and so many tokens of each."""
MOST_APART = 0.25
"""Nats between the server's log-probabilities and ours, on average. In bfloat16 they are 0.01 to 0.03 apart."""
PLAIN_SAMPLING = {
    "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}  # fmt: skip
"""Said one by one: what is not said, the server takes from the model's `generation_config.json`."""


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
        self._name = ""
        self._checked = False
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="gem-server")

    def refresh(self) -> None:
        """As `Sampler.refresh`: the server loads the adapters as they are now, and forgets those before.

        Raises:
            ServerFailed: if it cannot.
        """
        before, self._name = self._name, f"gem-{secrets.token_hex(6)}"  # a server keeps what it computed by this name
        place = self.adapters / self._name
        self.policy.model.save_pretrained(place, safe_serialization=True)
        self._post("/load_lora_adapter", {"lora_name": self._name, "lora_path": str(place.resolve())})
        if before:
            self._post("/unload_lora_adapter", {"lora_name": before})
        for folder in self.adapters.iterdir():
            if folder != place:
                shutil.rmtree(folder)

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
        responses = [job.result() for job in jobs]
        if not self._checked:
            self._check(prompts, responses, temperature)
            self._checked = True
        return responses

    def _respond(self, prompt: list[int], seed: int, temperature: float) -> Response:
        answer = self._post(
            "/completions",
            {
                "model": self._name,
                "prompt": prompt,
                "max_tokens": self.max_tokens,
                "temperature": temperature,
                **PLAIN_SAMPLING,
                "seed": seed,
                "ignore_eos": True,  # a model may have several such tokens; the response ends with one
                "stop_token_ids": [self.policy.prompts.end],
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

    def _check(self, prompts: Sequence[Sequence[int]], responses: Sequence[Response], temperature: float) -> None:
        """Compare what the server said of its first tokens with what the policy here says.

        Raises:
            ServerFailed: if these are not the probabilities that the tokens were drawn with.
        """
        drawn, plain, count = 0.0, 0.0, 0
        for prompt, response in list(zip(prompts, responses, strict=True))[: CHECKED[0]]:
            tokens, said = response.tokens[: CHECKED[1]], torch.tensor(response.logps[: CHECKED[1]])
            logits_TV = self._logits(prompt, tokens)
            at = torch.tensor(tokens)[:, None]
            for_drawn, for_plain = (
                torch.log_softmax(logits_TV / heat, -1).gather(1, at)[:, 0] for heat in (temperature, 1.0)
            )
            drawn += float((for_drawn - said).abs().sum())
            plain += float((for_plain - said).abs().sum())
            count += len(tokens)
        if plain < drawn / 2 and drawn > 0.01 * count:
            raise ServerFailed(
                f"The server says probabilities at temperature 1, and the temperature is {temperature:g}: start vLLM "
                "with --logprobs-mode processed_logprobs."
            )
        if drawn > MOST_APART * count:
            raise ServerFailed(
                f"The server's log-probabilities are {drawn / count:.2g} nats from those of the policy here, on "
                "average: it has another model, or changes what it draws from."
            )

    @torch.no_grad()
    def _logits(self, prompt: Sequence[int], tokens: Sequence[int]) -> torch.Tensor:
        """What the policy here says before each of the tokens, (T, V)."""
        device = next(self.policy.parameters()).device
        ids_BT = torch.tensor([[*prompt, *tokens[:-1]]], device=device)
        return self.policy.logits(self.policy.hidden(ids_BT)[:, len(prompt) - 1 :])[0].float().cpu()

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
