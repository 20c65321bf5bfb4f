"""Proof of results: digests of episodes, signed certificates, and re-execution of all episodes of a row.

A row is the result of one agent on a leaderboard, with the episodes behind it. Begin with `digests`; `certificates`
signs what a row claims, `checking` compares a certificate with its episodes, and `reexecution` plays them again.
`docs/verification.md` says what each of them proves.
"""
