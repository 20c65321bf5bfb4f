"""An agent behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp, or a provider's.

    spec = EndpointSpec(url="http://127.0.0.1:8000/v1", model="qwen3-4b", temperature=0.6)
    agent = EndpointAgent(spec)                     # rollout(agent, slots, num_envs=32)

What it knows of a turn besides its action is in `Decision.extra`:

| key | is |
|---|---|
| `tokens_in`, `tokens_out` | as the server counted them, of all requests that the turn took |
| `tokens_reasoning` | those of `tokens_out` that were reasoning, where the server says so |
| `seconds` | from the first request to the end of the answer, pauses between tries included |
| `first_seconds` | until the first token of the answer that counted |
| `requests` | how many it took, if it was not one |
| `model` | what the server says has answered |
| `finish` | why the answer ended, where it was not by itself: `length`, `content_filter` |
| `calls` | the tools it called, as `{"name", "arguments"}` |
| `said` | what it wrote beside a tool call |
| `error` | why there is no answer, where the turn was forfeited |

Its reasoning is the decision's `note`: it is shown, and never reaches the environment.
"""

from gem.agents.endpoint.agent import EndpointAgent
from gem.agents.endpoint.spec import EndpointSpec
from gem.agents.endpoint.trial import Trial, try_out

__all__ = ["EndpointAgent", "EndpointSpec", "Trial", "try_out"]
