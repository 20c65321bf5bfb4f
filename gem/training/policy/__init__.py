"""The policy: `policies` holds the weights, `sampler` writes responses, `tokenizing_agent` makes an agent of both.

`prompts` turns the texts of an episode into tokens; `policy_agent` plays with a checkpoint outside a training.
"""
