"""Refusals of requests to episodes, each with a sentence for the user and an HTTP status."""

from __future__ import annotations


class Refusal(Exception):
    """A request that cannot be fulfilled. `str(refusal)` says what happened and what to do next."""

    status = 400
    title = "This cannot be done"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class NotFound(Refusal):
    """There is no such episode or turn."""

    status = 404
    title = "There is no such episode"


class TurnTaken(Refusal):
    """The episode has advanced since the page was drawn, so the turn was not played."""

    status = 409
    title = "The episode has moved on"


class EpisodeEnded(Refusal):
    """The episode has ended, so no turn can follow."""

    status = 409
    title = "The episode is over"


class NothingToUndo(Refusal):
    """The person has not played a turn that could be undone."""

    status = 409
    title = "There is nothing to undo"


class NotYourTurn(Refusal):
    """The seat belongs to somebody else."""

    status = 403
    title = "This is not your seat"


class OtherSeatActs(Refusal):
    """The person has a seat, but it is another seat's turn."""

    status = 409
    title = "It is not your turn"


class SeatTaken(Refusal):
    """Somebody else has this seat already."""

    status = 409
    title = "This seat is taken"


class AlreadySeated(SeatTaken):
    """The person plays in this episode already, from another seat."""

    title = "You play here already"


class Sealed(Refusal):
    """The request would reveal a secret of one seat to another while the episode runs."""

    status = 409
    title = "Not available until the episode ends"


class ActionTooLong(Refusal):
    """The action is longer than an episode stores."""

    status = 413
    title = "The action is too long"


class Outdated(Refusal):
    """The environment's version has changed, so this episode cannot be continued."""

    status = 409
    title = "The environment has changed"


class Unreadable(Refusal):
    """The environment cannot parse the text, which a person most likely did not intend."""

    status = 422
    title = "The environment cannot read this"

    def __init__(self, sentence: str, suggestion: str = "") -> None:
        super().__init__(sentence)
        self.suggestion = suggestion
        """The text rewritten as an action that can be parsed; empty if there is none."""


class TooFast(Refusal):
    """The person has exceeded a rate limit."""

    status = 429
    title = "Too many requests"

    def __init__(self, sentence: str, wait: float) -> None:
        super().__init__(sentence)
        self.wait = wait
        """Seconds until the next request is allowed."""
