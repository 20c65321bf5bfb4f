r"""A conversation of agents with GEM's class for several agents, in turn and at once.

Prints:
    agent_0 agent_1 agent_2 agent_0
    3.0
    agent_0 agent_2
    2 messages
    missing
"""

from gem.multiagent import AgentSelector, MultiAgentEnv


class Talk(MultiAgentEnv):
    def __init__(self, mode="sequential"):
        super().__init__()
        self.possible_agents = [f"agent_{number}" for number in range(3)]
        self.agent_selector = AgentSelector(self.possible_agents, mode=mode)

    def observe(self, agent):
        return f"{agent} listens"

    def _process_actions(self, actions):
        for agent, action in actions.items():
            self.terminations[agent] = action == "leave"
        rewards = dict.fromkeys(actions, 1.0)
        return {agent: self.observe(agent) for agent in actions}, rewards, self.terminations, self.truncations, {}


env = Talk()
env.reset(seed=1)
order = []
for _ in range(4):
    order += env.agent_selector.get_active_agents()
    env.step({order[-1]: "good"})
print(*order)
env = Talk("parallel")
env.reset()
_, rewards, *_ = env.step(dict.fromkeys(env.agents, "good"))
print(sum(rewards.values()))
env.step({"agent_0": "stay", "agent_1": "leave", "agent_2": "stay"})
print(*env.agents)
env.broadcast_message("agent_0", "Hello!")
env.send_message("agent_0", "agent_2", "Hello!")
print(len(env.shared_memory), "messages")
try:
    env.step({"agent_0": "alone"})
except ValueError as error:
    print("missing" if "missing" in str(error) else error)
