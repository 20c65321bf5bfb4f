"""An agent that asks an OpenAI-compatible server: vLLM, Ollama, llama.cpp, or that of a provider.

    spec = EndpointSpec(url="http://127.0.0.1:8001/v1", model="qwen3-4b", temperature=0.6)
    agent = EndpointAgent(spec)                     # rollout(agent, requests, num_envs=32)

Begin reading in `agent`. `spec` has the settings, `chat` writes the messages, `client` sends them, `completion` reads
the response, and `functions` translates between actions and native tool calls. `ledger` reserves and books what
requests use, in the `amounts` that they can use at most and that the server counted.

`Decision.extra` has these facts about a turn:

| key | meaning |
|---|---|
| `tokens_in`, `tokens_out` | tokens of all requests of the turn, as the server counted them |
| `tokens_reasoning` | those of `tokens_out` that were reasoning, if the server reports them |
| `tokens_estimated` | tokens booked for requests without a count of the server, beside the others; if there are any |
| `seconds` | time from the first request to the end of the response, pauses between tries included |
| `first_seconds` | time to the first token of the response that counted |
| `requests` | the number of requests, if it was not one |
| `model` | the name of the model in the response |
| `finish` | why the response ended, if the model did not end it: `length`, `content_filter` |
| `calls` | the tool calls, as `{"name", "arguments"}` |
| `said` | the text beside a tool call |
| `error` | why there is no response, if the turn was forfeited |

The reasoning of the model is the note of the decision: people can read it, and the environment never does.
"""

from gem.agents.endpoint.agent import EndpointAgent
from gem.agents.endpoint.spec import EndpointSpec
from gem.agents.endpoint.trial import Trial, try_out

__all__ = ["EndpointAgent", "EndpointSpec", "Trial", "try_out"]
