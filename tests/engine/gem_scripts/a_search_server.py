r"""A search tool, with the server that it asks.

Prints:
    Doc 1
    True
"""

import threading

from gem.tools.search_engine.retrieval_server import SearchServer

import gem
from gem.tools.search.index import open_index
from gem.tools.search_tool import SearchTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper

server = SearchServer(open_index("wikigame"))
threading.Thread(target=server.serve_forever, daemon=True).start()
tool = SearchTool(num_workers=1, search_url=f"http://127.0.0.1:{server.server_address[1]}/retrieve", topk=2)
env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0-easy", max_turns=2), tools=[tool], max_tool_uses=1)
env.reset()
observation, *_, info = env.step("<search>the largest ocean</search>")
print("Doc 1" if "Doc 1" in observation else observation)
print(info["use_tool"])
server.shutdown()
server.server_close()
