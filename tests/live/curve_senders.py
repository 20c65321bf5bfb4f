"""What people write who log to trackio, run where trackio is installed. It waits for lines, so that tests can act.

    python curve_senders.py NAME

The address of the server is in TRACKIO_SERVER_URL, as people set it.
"""

# mypy: ignore-errors
# trackio is not installed beside this repository.

import sys

import trackio


def plain():
    """A loop that logs metrics, a table and a conversation, and finishes."""
    trackio.init(project="plain", name="loop", config={"seed": 3, "lr": 0.5}, group="sweep")
    for step in range(20):
        trackio.log({"loss": 1 / (step + 1), "reward": {"mean": step / 20}})
    messages = [{"role": "user", "content": "Guess."}, {"role": "assistant", "content": "5"}]
    trackio.log({"rollout": trackio.Trace(messages=messages, metadata={"reward": 1.0}), "loss": float("nan")})
    trackio.finish()


def resumed():
    """Goes on with the run of the loop."""
    trackio.init(project="plain", name="loop", resume="must")
    trackio.log({"loss": 0.01})
    trackio.finish()


def crashed():
    """Logs, and dies without a word once it is told to."""
    import os
    import time

    run = trackio.init(project="plain", name="crash")
    for step in range(5):
        trackio.log({"loss": step})
    while run._queued_logs or run._sending_batch:
        time.sleep(0.01)
    print("sent", flush=True)
    sys.stdin.readline()
    os._exit(9)


def steady():
    """Logs an entry for each line that it reads, and finishes at the end."""
    trackio.init(project="plain", name="steady")
    print("begun", flush=True)
    for step, _ in enumerate(sys.stdin):
        trackio.log({"loss": step})
    trackio.finish()


{"plain": plain, "resumed": resumed, "crashed": crashed, "steady": steady}[sys.argv[1]]()
