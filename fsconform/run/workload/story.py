"""The story of the case: A stores a prefix, B asks for it, with or without having asked before."""

from __future__ import annotations

from fsconform.run.workload.cures import try_cures
from fsconform.run.workload.stage import Stage
from fsconform.vocabulary.workloads import Phase

_POISONED = ("poisoned", "poisoned-name")


def prepare(stage: Stage, filled_b: bool = False, letters: str = "AB") -> None:
    """Instances, base directory, and the look-ups before anything was stored."""
    for letter in letters:
        stage.open(letter, filled=letter == "A" or filled_b)
    stage.start(*letters)
    if stage.setting.reader == "poisoned-name":
        stage.parties["A"].perform(Phase.START, "make_directories")
    ask_before(stage)


def ask_before(stage: Stage) -> None:
    """Phase 1: A looks for its blocks; so does B where its cache is to be poisoned."""
    stage.parties["A"].perform(Phase.COLD, "request", None)
    if stage.setting.reader in _POISONED:
        stage.parties["B"].perform(Phase.COLD, "request", None)


def base(stage: Stage) -> None:
    """Phases 0 to 6."""
    prepare(stage)
    with stage.timed("store"):
        stage.parties["A"].perform(Phase.STORE, "store")
    ask(stage)
    second = stage.parties["B"]
    second.fill()
    second.perform(Phase.RESTORE, "store")
    stage.list_files()


def ask(stage: Stage) -> None:
    """Phases 3 and 4 on B: one request; where it missed something, look until it is there, then a later request."""
    second = stage.parties["B"]
    with stage.timed("promote"):
        hits = second.perform(Phase.LOOKUP, "request", int(Phase.PROMOTE))
    second.note_request()
    second.verify()
    missing = [block for block in range(stage.options.blocks) if block not in hits]
    stage.facts["hits"] = len(hits)
    if not missing or stage.options.seed_b or not stage.wait_s:
        return
    still = second.perform(Phase.POLL, "poll", missing, stage.wait_s)
    stage.facts["never visible"] = len(still)
    found = [block for block in missing if block not in still]
    second.fill(False)
    stage.facts["hits later"] = len(second.perform(Phase.RETRY, "request", int(Phase.RETRY_PROMOTE))) if found else 0
    second.verify()
    stage.facts["cures"] = try_cures(stage.fleet, stage.personality, stage.parties, stage.setting.reader)
