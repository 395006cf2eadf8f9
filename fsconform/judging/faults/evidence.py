"""Looking things up in the events of an episode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from errno import ENOENT

from fsconform.judging.judgement import slack_s
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.workloads import Box, Episode, Event, InstanceReport

PromiseOf = Callable[[Cell], Promise]
PUBLISHES = ("rename", "link", "open-final")
"""Steps that give a block its name."""
MOST_EVENTS = 12


class Scene:
    """One episode with its events indexed by path, and what the filesystem promises."""

    def __init__(self, episode: Episode, promise_of: PromiseOf) -> None:
        self.episode = episode
        self.setup = episode.setup
        self.sites = {report.letter: report.site for report in episode.instances}
        """Instance -> letter of its site."""
        self.promise_of = promise_of
        self.by_path: dict[str, list[Event]] = {}
        self._by_thread: dict[tuple[str, str], list[Event]] = {}
        self._last: dict[tuple[str, int, int, str], Event] = {}
        for event in episode.events():
            self.by_path.setdefault(event.path, []).append(event)
            self._by_thread.setdefault((event.instance, event.thread), []).append(event)
            self._last[event.instance, event.phase, event.block, event.step] = event

    def at(self, path: str, *steps: str) -> list[Event]:
        """The events on a path, in order, of these steps (all where none is named)."""
        return [event for event in self.by_path.get(path, ()) if not steps or event.step in steps]

    def direction(self, actor: str, observer: str) -> str:
        """`a-b` for two instances; the observer's own site twice where there is no actor."""
        return f"{self.sites.get(actor, self.sites[observer])}-{self.sites[observer]}"

    def promise(self, property_id: str, direction: str, **axes: str) -> Promise:
        """What is promised of one cell."""
        return self.promise_of(make_cell(property_id, direction, **axes))

    def published(self, path: str, before: int | None = None) -> Event | None:
        """The first successful event that gave a path its name (that returned before a moment, ns)."""
        done = [e for e in self.at(path, *PUBLISHES) if not e.errno and (before is None or e.returned < before)]
        return done[0] if done else None

    def whole_since(self, path: str) -> int | None:
        """When the first publisher of a path had finished with it: its name given and its contents closed, ns."""
        publish = self.published(path)
        if publish is None:
            return None
        closes = [e.returned for e in self.of_thread(publish) if e.step == "close" and e.returned > publish.invoked
                  and e.block == publish.block]  # fmt: skip
        return max(publish.returned, min(closes, default=0) if self._closes_late(publish) else 0)

    def _closes_late(self, publish: Event) -> bool:
        """Whether the store closes the file after it has its name: no close between its opening and the publish."""
        before = [e for e in self.of_thread(publish) if e.block == publish.block and e.invoked < publish.invoked]
        steps = [event.step for event in before if event.step in ("open-temp", "close")]
        return not steps or steps[-1] != "close"

    def of_thread(self, event: Event) -> list[Event]:
        """All events of the thread of one, in order."""
        return self._by_thread.get((event.instance, event.thread), [])

    def missed_before(self, report: InstanceReport, look: Event) -> Event | None:
        """The last miss of the same path, or of a directory above it, by anybody at the same site: what its cache may
        still say. Looks of the same request do not count."""
        found = None
        path = look.path
        while path:
            for event in self.by_path.get(path, ()):
                if event.invoked >= look.invoked:
                    break
                same = self.sites.get(event.instance) == report.site and event.phase != look.phase
                if event.errno == ENOENT and same and (found is None or event.invoked > found.invoked):
                    found = event
            path = path.rpartition("/")[0]
        return found

    def last_of(self, report: InstanceReport, phase: int, block: int, step: str) -> Event | None:
        """The last event of one instance on a block, by phase and step."""
        return self._last.get((report.letter, phase, block, step))


def few(events: Iterable[Event | None]) -> tuple[Event, ...]:
    """The events that are there, in order, each once, not too many."""
    found = list(dict.fromkeys(event for event in events if event is not None))
    return tuple(sorted(found, key=lambda event: event.invoked))[:MOST_EVENTS]


def stale_box(promise: Promise, late_ns: int, longest_look_ns: int) -> Box | None:
    """Where a look belongs that missed what was published `late_ns` before it began (0 or less: concurrent, None)."""
    if late_ns <= 0:
        return None
    if promise.strength in (Strength.GUARANTEED, Strength.OPTIONAL):
        return Box.BROKE
    if promise.strength is Strength.WITHIN:
        limit = promise.bound_s + slack_s(promise, longest_look_ns)
        return Box.BROKE if late_ns > limit * 1e9 else Box.WITHIN
    return Box.WITHIN


def weakness(promise: Promise) -> tuple[int, float]:
    """For comparing promises: the larger, the less is promised."""
    order = (Strength.GUARANTEED, Strength.OPTIONAL, Strength.WITHIN, Strength.UNSUPPORTED, Strength.NOT_PROMISED)
    return order.index(promise.strength), promise.bound_s


def promised_box(promise: Promise) -> Box:
    """Where something belongs that a property excludes."""
    return Box.BROKE if promise.strength in (Strength.GUARANTEED, Strength.OPTIONAL) else Box.WITHIN


def told(promise: Promise) -> str:
    """The promise with its source, for a sentence."""
    return f"{promise} ({promise.source})"
