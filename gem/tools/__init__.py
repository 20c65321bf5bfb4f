"""Tools: what an agent may ask for help between its actions. `ToolEnvWrapper` offers them around any environment.

env = gem.make("game:GuessTheNumber-v0-easy", tools=["python"])
obs, info = env.reset(seed=7)
obs, reward, terminated, truncated, info = env.step("<python>print(2**10)</python>")
"""

from gem.tools.kinds import make_tool, register_tool
from gem.tools.tool import BaseTool, Call, Output
from gem.tools.tool_env_wrapper import ToolEnvWrapper

__all__ = ["BaseTool", "Call", "Output", "ToolEnvWrapper", "make_tool", "register_tool"]
