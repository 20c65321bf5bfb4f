"""Every environment as a server of OpenEnv, at `/openenv/<env_id>`: what trainers reach with OpenEnv's own clients.

`application` is mounted beside Django and passes messages to `sockets` and `http`. Both play through a host (`hosts`):
fast environments are stepped in this process, as pages do (`local`), slow ones by workers (`queued`). `slots` limits
how many sessions there are, and `recording` writes what people with an account play. Begin reading in `application`.
"""
