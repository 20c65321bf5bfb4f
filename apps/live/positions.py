"""Positions in a stream: the seq of the last event that a reader has, as it comes in headers and addresses."""

import re

MAX_SEQ = 2**31 - 1
_DECIMAL = re.compile(r"[0-9]{1,10}", re.ASCII)
NO_POSITION = "This is not the id of an event. Send the id of the last event that you have, or none for all events."


def position(text: str) -> int | None:
    """The seq that a client has reached; None if the text names none."""
    seq = int(text) if _DECIMAL.fullmatch(text) else MAX_SEQ + 1
    return seq if seq <= MAX_SEQ else None


def never_reached(reached: int) -> str:
    """A sentence to a client that claims more events than there are."""
    return f"This stream has reached {reached}, so no event after your id can follow. Begin anew, without an id."
