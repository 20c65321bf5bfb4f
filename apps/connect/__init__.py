"""How agents that run elsewhere reach the site: their connections, their pages, and chat completions for one episode.

`application` is mounted beside Django. It passes the sockets of remote agents to `sockets`, and requests of programs
that play one episode as if it were a model to `completions`. `views` has the page that says how to connect, which turns
live when the agent does. What is asked and answered stands in `apps.remote`.
"""
