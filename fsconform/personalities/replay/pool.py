"""Threads of an instance: two queues, one condition variable, each group serving its own queue first
(vllm/v1/kv_offload/tiering/fs/thread_pool.py DualQueueThreadPool)."""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable, Deque

from fsconform.personalities.replay.tape import Tape, Trace

LOAD, STORE = 0, 1
Task = Callable[[Tape], None]


class Pool:
    """`readers` threads that prefer loads and `writers` that prefer stores; idle ones take from the other queue."""

    def __init__(self, trace: Trace, readers: int, writers: int) -> None:
        self._queues: "tuple[Deque[Task], Deque[Task]]" = (deque(), deque())
        self._condition = threading.Condition()
        self._closing = False
        self._threads = [
            threading.Thread(target=self._serve, args=(trace.tape("{}-{}".format(word, number)), first), daemon=True)
            for word, first, count in (("read", LOAD, readers), ("write", STORE, writers))
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, queue: int, task: Task) -> None:
        """Have a task done by any thread."""
        with self._condition:
            self._queues[queue].append(task)
            self._condition.notify()

    def close(self) -> None:
        """End the threads once their tasks are done."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        for thread in self._threads:
            thread.join(5.0)

    def _serve(self, tape: Tape, first: int) -> None:
        while True:
            with self._condition:
                while not (self._queues[first] or self._queues[1 - first]):
                    if self._closing:
                        return
                    self._condition.wait()
                task = (self._queues[first] or self._queues[1 - first]).popleft()
            task(tape)
