"""Episodes that other programs have played and evaluated, as conversations.

`read` opens what they leave: logs of Inspect, rows of verifiers, and episodes of `gemweb eval` or of GEM as JSON lines.
`of_sample` makes one of a row that verifiers uploads. Nothing in them is verified.
"""

from gem.transcripts.files import Header, read
from gem.transcripts.samples import of_sample
from gem.transcripts.transcript import Message, Transcript

__all__ = ["Header", "Message", "Transcript", "of_sample", "read"]
