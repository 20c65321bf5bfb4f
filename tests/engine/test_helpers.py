"""Helpers of a pool are handed out in the order in which they are asked for."""

import os
import threading
from typing import Any

from gem.processes import HelperPool, HelperProcess


def test_nobody_overtakes_who_waits_for_a_helper() -> None:
    served: list[str] = []
    may_end = threading.Event()

    class Helper(HelperProcess):
        def call(self, **request: Any) -> dict[str, Any]:
            served.append(request["who"])
            may_end.wait()
            return {}

    pool = HelperPool(lambda: Helper("none", "A helper"), size=1)

    def ask(*names: str) -> threading.Thread:
        thread = threading.Thread(target=lambda: [pool.call(who=who) for who in names], daemon=True)
        thread.start()
        return thread

    threads = [ask("first", "newcomer")]
    while not served:
        os.sched_yield()
    for number, name in enumerate(("second", "third"), 1):
        threads.append(ask(name))
        while len(pool._line) < number:
            os.sched_yield()
    may_end.set()
    for thread in threads:
        thread.join()
    assert served == ["first", "second", "third", "newcomer"]
