"""The stage of one episode: its instances on a fresh tree, the clocks, the record that is made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fsconform.fleet.fleet import Fleet
from fsconform.personalities.catalogue import Personality
from fsconform.run.workload.options import WorkloadOptions
from fsconform.run.workload.parties import Party, PartyLost, SceneRefused, together, without_report
from fsconform.run.workload.settings import Setting
from fsconform.vocabulary.workloads import Episode, InstanceReport, Phase, Setup

SEEDED = 0
"""vLLM's default seed."""


class NotPlayable(Exception):  # noqa: N818 - an answer
    """A variant that these sites cannot show, with the reason and what would."""


@dataclass(slots=True)
class Stage:
    """Instances A and B, and C where the episode has one."""

    fleet: Fleet
    options: WorkloadOptions
    personality: Personality
    parties: Mapping[str, Party]
    roots: Mapping[str, str]
    """Instance -> the shared root of this episode at its site."""
    setting: Setting
    wait_s: float
    """How long to keep looking for what a request missed: the longest bound that is promised, and slack."""
    mounts: tuple[str, ...] = ()
    """Paths of the sites."""
    free_bytes: int = 0
    """The least that is free at any site."""
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    earlier: list[InstanceReport] = field(default_factory=list)
    """What instances recorded in lives that ended during the episode."""

    def open(self, letter: str, filled: bool, **changes: Any) -> Party:
        """Make an instance on the stage. `changes` of its settings."""
        party = self.parties[letter]
        options, setting = self.options, self.setting
        suffix_seed = SEEDED if options.suffixes == "equal" or self.personality.seeded else None
        settings = {
            "root": self.roots[letter], "letter": letter, "protocol": self.personality.module,
            "blocks": options.blocks, "size": setting.size, "tokens": options.tokens,
            "seed": options.seed_b if letter == "B" and options.seed_b else options.seed, "jobs": options.jobs,
            "readers": setting.threads.loads, "writers": setting.threads.stores, "tick_s": options.tick_s,
            "gauge_s": options.gauge_s, "tasks": setting.tasks, "io": setting.io, "slots": options.slots,
            "suffix_seed": suffix_seed, "faithful": options.faithful, "deadline_s": options.deadline_s,
        }  # fmt: skip
        party.open({**settings, **changes}, filled)
        if letter not in self.opened:
            self.opened.append(letter)
        return party

    def start(self, *letters: str) -> None:
        """Phase 0 at these instances, at the same time."""
        actions = [lambda party=self.parties[letter]: party.perform(Phase.START, "start") for letter in letters]
        together(*actions)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Keep how long something took."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = time.monotonic() - start

    def play(self, story: Callable[[Stage], None]) -> Episode:
        """Perform a story and collect what was recorded, also where an instance was lost or refused on the way."""
        try:
            with suppress(PartyLost):
                story(self)
        except SceneRefused as refusal:
            self.facts["refused"] = (str(refusal), refusal.errno)
        return self._episode()

    def _episode(self) -> Episode:
        reports, files, errors = [], self.facts.pop("files", None), []
        for letter in self.opened:
            party = self.parties[letter]
            try:
                reports.append(party.report())
            except PartyLost:
                reports.append(without_report(party))
            errors.append(party.error_ns)
        setup = self.setup(max(errors, default=0))
        found = tuple((path, size) for path, size in files or ())
        return Episode(setup, (*reports, *self.earlier), found, self.facts, self.seconds)

    def setup(self, error_ns: int = 0) -> Setup:
        """The settings that judging needs. `error_ns`: of the clocks."""
        options, setting, store = self.options, self.setting, self.personality
        equal = setting.variant == "v2" or store.seeded or options.suffixes == "equal"
        return Setup(
            personality=store.name, variant=setting.variant, reader=setting.reader, blocks=options.blocks,
            size=setting.size, tokens=options.tokens, suffixes="equal" if equal else "unique", tasks=setting.tasks,
            publish=store.publish, observer=store.observer, gauge_s=options.gauge_s, io=setting.io,
            threads=setting.threads.loads + setting.threads.stores, crossed=setting.crossed,
            exclusive=store.exclusive, deletes=store.deletes, error_ns=error_ns,
        )  # fmt: skip

    def end_life(self, letter: str, name: str) -> None:
        """Keep what an instance recorded under another name; the next one of its letter is another life."""
        party = self.parties[letter]
        party.letter = name
        self.earlier.append(party.report())
        party.letter = letter
        self.facts["killed"] = (*self.facts.get("killed", ()), name)

    def give_back_room(self) -> None:
        """Empty the files of the episode before their names are removed."""
        first = self.parties["A"]
        if "A" in self.opened and not first.lost:
            with suppress(PartyLost, SceneRefused):
                first.perform(Phase.END, "empty")

    def list_files(self) -> None:
        """What is there in the end, as the first instance that lives sees it."""
        for letter in self.opened:
            if not self.parties[letter].lost:
                self.facts["files"] = self.parties[letter].perform(Phase.END, "listing")
                return
