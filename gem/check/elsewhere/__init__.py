"""Checks environments that are not of this engine: of packages for GEM, of Gymnasium, of verifiers, of OpenEnv servers.

for finding in check_elsewhere(read_target("gymnasium:FrozenLake-v1")).findings():
    print(finding.env_id, finding.status, finding.title, finding.detail)

A package is not imported here: `driver` runs in the interpreter that has it, which `processes` starts and watches. A
server is asked over its protocol (`servers`). Begin reading in `targets`.
"""
