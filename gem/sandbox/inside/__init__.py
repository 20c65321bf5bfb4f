"""What runs in the sandbox: the launcher, the zygote, and the processes that execute untrusted code.

It is started as a package named `inside` by an interpreter without access to the site's packages (`python -I -S`), and
imports only the standard library. Begin with `launch`, which becomes `zygote`, whose children run `confine`; only what
`execution` executes is untrusted. `shell` and `server` are the same for commands of a terminal and for MCP servers.
"""
