"""Meeting through the controller, for workers that share no memory: other hosts, other PID namespaces.

A worker has words of its own in the layout of the shared page. Messages of the controller keep them up to date and are
heard by a thread of their own; what this worker signals, it also tells the controller, which passes it on.
A barrier: each lane says that it is here; when all are, the controller tells each at which time of its own clock to go
on. A lane sleeps until shortly before that time, then spins: sleeping alone leaves almost no overlap.
Every message that goes home carries when it was sent here, and when the last one that came was sent there and heard
here: from these the controller knows how the clocks stand to one another.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any, Callable

from fsconform.fleet.worker.barrier import FIRST_LANE, FIRST_SIGNAL, PAGE_WORDS, REGION_WORDS, Meeting, Place

GO_WORD, WHEN_WORD = FIRST_LANE, FIRST_LANE + 1
"""Words of a region: the last barrier that may be left, and when (ns of this worker's clock)."""
PING, SET, CLEAR, STAY = "ping", "set", "clear", "stay"
PONG, AT, WORD = "pong", "at", "word"
_SPIN_NS = 500_000
"""How long before the agreed time to stop sleeping: a sleep ends late by 50 us on an idle processor."""
_BLINK_S = 0.0005
"""How long to wait for news before the next look at what else there is to do."""
_LONGEST_WAIT_S = 0.05
_clock = time.monotonic_ns


class Line:
    """This worker's words, and its line to the controller."""

    def __init__(self) -> None:
        self.words: "memoryview[int]" = memoryview(bytearray(8 * PAGE_WORDS)).cast("q")
        self._channel: Any = None
        self._heard: "tuple[int, int]" = (0, 0)
        self._patience_ns = 0
        self._news = threading.Condition()
        self._said = threading.Lock()

    def open(self, channel: Any) -> None:
        """Listen to a channel (execnet's)."""
        self._channel = channel
        channel.setcallback(self.hear)

    def hear(self, message: "tuple[Any, ...]") -> None:
        """One message of the controller: (kind, its clock when it was sent, ...). Called by the listening thread."""
        now = _clock()
        kind, sent, *rest = message
        self._heard = (sent, now)
        if kind == PING:
            with suppress(OSError):  # nobody is left to answer
                self.tell(PONG)
            return
        if kind == STAY:
            self._patience_ns = rest[0]
            return
        with self._news:
            if kind == CLEAR:
                for word in range(rest[0], rest[0] + REGION_WORDS):
                    self.words[word] = 0
            for word, value in rest[0] if kind == SET else ():
                self.words[word] = value
            self._news.notify_all()

    def tell(self, kind: str, *what: int) -> None:
        """Say something to the controller: (kind, our clock, when the last message was sent, heard, ...)."""
        with self._said:
            self._channel.send((kind, _clock(), *self._heard, *what))

    def silent(self) -> bool:
        """Whether the controller, which has promised to speak now and then, has said nothing for too long."""
        return 0 < self._patience_ns < _clock() - self._heard[1]

    def await_word(self, word: int, wanted: int, seconds: float) -> None:
        """Return when the word is at least `wanted`, or after `seconds`."""
        with self._news:
            if self.words[word] < wanted:
                self._news.wait(seconds)


LINE = Line()


class LineMeeting(Meeting):
    """One job's meeting through the controller."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, LINE.words)
        self._go = place.region + GO_WORD
        self._late = 0
        """How much too late the last message came to leave a barrier together, ns."""

    def meet(self) -> None:
        """Wait until every lane has come here. Raises Aborted."""
        place, start = self._place, _clock()
        if place.lanes == 1:
            return
        self._generation += 1
        LINE.tell(AT, place.region, place.lane, self._generation, self._late)
        while self._words[self._go] < self._generation:
            LINE.await_word(self._go, self._generation, _LONGEST_WAIT_S)
            self._check(start, 1 << 62)
        when = self._words[place.region + WHEN_WORD]
        self._late = max(0, _clock() - when)
        leave_at(when)

    def signal(self, number: int, value: int) -> None:
        """Set word `number`, here and at all partners."""
        super().signal(number, value)
        LINE.tell(WORD, self._place.region, FIRST_SIGNAL + number, self._base + value)

    def wait(self, number: int, value: int, idle: "Callable[[], bool]" = lambda: False) -> None:
        """Wait until word `number` is at least `value`; `idle` may do a little work and tells whether it did.

        Raises Aborted.
        """
        word, wanted = self._place.region + FIRST_SIGNAL + number, self._base + value
        start = _clock()
        while self._words[word] < wanted:
            if not idle():
                LINE.await_word(word, wanted, _BLINK_S)
                self._check(start, 1 << 62)


def leave_at(when: int) -> None:
    """Return at `when`, ns of this clock, or at once where it has passed."""
    left = when - _clock() - _SPIN_NS
    if left > 0:
        time.sleep(left / 1e9)
    while _clock() < when:
        pass


def open_meeting(place: Place) -> Meeting:
    """Where a job meets: in the shared page, or through the controller."""
    return LineMeeting(place) if place.by_line else Meeting(place)
