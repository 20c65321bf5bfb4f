"""Remote agents: programs on one's own machine that connect to the site, or play one episode as chats."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

from gem.client.request import Request, Resource, sends
from gem.client.schemas import Chat, NewChat, NewRemote, Remote
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)


class Remotes(Resource[R_co]):
    """Remote agents. `gem.client.serving` has what connects one."""

    @sends
    def add(self, name: str, *, seats: int | None = None, visibility: Visibility | None = None) -> Request[Remote]:
        """Return one's remote agent of this name, which is created if there is none.

        Args:
            name: what it is called on all pages.
            seats: the turns that it is asked for at a time; 4 for a new one.
            visibility: who may see a new one; by default what the account says.
        """
        content = NewRemote(name=name, seats=seats, visibility=visibility)
        return Request("POST", "remotes", Remote, content=content, keyed=True)

    @sends
    def get(self, slug: str) -> Request[Remote]:
        """Return a remote agent of one's own, and whether it is connected."""
        return Request("GET", f"remotes/{quote(slug, safe='')}", Remote)

    @sends
    def begin_chat(
        self,
        slug: str,
        env_id: str,
        *,
        seed: int | None = None,
        opponent: str | None = None,
        visibility: Visibility | None = None,
    ) -> Request[Chat]:
        """Begin an episode that a program plays as if the site were a model behind chat completions.

        Args:
            slug: the remote agent that plays.
            env_id: the environment.
            seed: drawn if it is None.
            opponent: in environments with several seats, the agent in the others.
            visibility: who may see the episode; by default what the account says.
        """
        content = NewChat(env_id=env_id, seed=seed, opponent=opponent, visibility=visibility)
        return Request("POST", f"remotes/{quote(slug, safe='')}/chats", Chat, content=content, keyed=True)
