"""What runs inside the sandbox: the launcher, the zygote, and the processes that untrusted code runs in.

Started as a package named `inside` by an interpreter that knows nothing of the site (`python -I -S`), so it imports
only the standard library. The order of trust: `launch` and `zygote` are ours; what `program` executes is not.
"""
