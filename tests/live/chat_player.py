"""Plays scripts with OpenAI's own client, as a program does that asks a model: the replies are the observations.

    python chat_player.py < scripts.json > transcripts.json

A script is `[base_url, key, [action, ...]]`; its transcript has the replies. The first half of the scripts is played
with streams. Half of the programs keep their history, the others send the last message alone.
"""

# mypy: ignore-errors
# OpenAI's client is installed in an environment of its own.

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from openai import OpenAI

SESSIONS = 4


def say(client, messages, streams):
    """The reply to messages."""
    if not streams:
        return client.chat.completions.create(model="gem", messages=messages).choices[0].message.content
    chunks = client.chat.completions.create(
        model="gem", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def play(number, base_url, key, actions):
    """The transcript of one script."""
    client = OpenAI(base_url=base_url, api_key=key, timeout=90)
    messages = [{"role": "system", "content": "You play."}, {"role": "user", "content": "Begin."}]
    transcript = [say(client, messages, number % 2)]
    for action in actions:
        if number % 4 < 2:
            messages += [{"role": "assistant", "content": transcript[-1]}, {"role": "user", "content": action}]
        else:
            messages = [{"role": "user", "content": action}]
        transcript.append(say(client, messages, number % 2))
    return transcript


def play_safely(script):
    """The transcript, or the error."""
    try:
        return play(*script)
    except Exception as error:  # noqa: BLE001 (the test reads it)
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    scripts = json.load(sys.stdin)
    with ThreadPoolExecutor(SESSIONS) as threads:
        played = threads.map(play_safely, [[number, *script] for number, script in enumerate(scripts)])
        json.dump(list(played), sys.stdout)
