"""What an episode refuses, each with the sentence that its user reads and the HTTP status that a page answers with."""

from __future__ import annotations


class Refusal(Exception):
    """Something was asked for that cannot be. `str(refusal)` says what happened and what to do next."""

    status = 400
    title = "This cannot be done"

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class NotFound(Refusal):
    """There is no such episode, or no such turn of it."""

    status = 404
    title = "There is no such episode"


class TurnTaken(Refusal):
    """The episode went on after the page that sent this turn was drawn; the turn was not played."""

    status = 409
    title = "The episode has moved on"


class EpisodeEnded(Refusal):
    """The episode has ended, so no turn can follow."""

    status = 409
    title = "The episode is over"


class NotYourTurn(Refusal):
    """The seat belongs to somebody else."""

    status = 403
    title = "This is not your seat"


class OtherSeatActs(Refusal):
    """The person has a seat, but another one acts now."""

    status = 409
    title = "It is not your turn"


class SeatTaken(Refusal):
    """Somebody sits there already, or the link is not one that was given out."""

    status = 409
    title = "This seat is taken"


class Sealed(Refusal):
    """It would show what one seat may not know of another while they play."""

    status = 409
    title = "Not available until the episode ends"


class ActionTooLong(Refusal):
    """The action's text is longer than an episode keeps."""

    status = 413
    title = "The action is too long"


class Outdated(Refusal):
    """The environment has another version now, so the past of this episode cannot be continued."""

    status = 409
    title = "The environment has changed"


class Unreadable(Refusal):
    """The environment would not understand the text, and a person most likely did not mean that."""

    status = 422
    title = "The environment cannot read this"

    def __init__(self, sentence: str, suggestion: str = "") -> None:
        super().__init__(sentence)
        self.suggestion = suggestion
        """The same text as an action that it can read; empty if there is none."""


class TooFast(Refusal):
    """More was asked for in a short time than one visitor gets."""

    status = 429
    title = "Too many requests"

    def __init__(self, sentence: str, wait: float) -> None:
        super().__init__(sentence)
        self.wait = wait
        """Seconds until the next one is let through."""
