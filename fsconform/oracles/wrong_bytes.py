"""Reads that returned bytes they must not return: the slow path of an examination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.evidence import Evidence
from fsconform.oracles.mentions import Mention
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Bools, Told
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.histories import INF

_EFFECTIVE = (OnceKind.WIN, OnceKind.PUBLISH, OnceKind.MAYBE)


def wrong_contents(evidence: Evidence) -> Iterator[Anomaly]:
    """Reads that returned bytes that they must not return."""
    for name, indices in enumerate(evidence.plan.contents):
        for index in indices:
            bad = broken(evidence, index)
            for content in np.unique(evidence.value[bad, index] & 0xFF).tolist():
                yield from _broken_look(
                    evidence, name, index, bad & (evidence.value[:, index] & 0xFF == content), content
                )


def broken(evidence: Evidence, index: int) -> Bools:
    """(R,) rounds in which one content look returned bytes that it must not return."""
    read = evidence.codes[:, index] == Told.DONE
    ripe = evidence.invoked[:, index] > evidence.complete[:, evidence.plan.mentions[index].name]
    return np.asarray(read & ripe & (evidence.value[:, index] & 0xFF != Content.EXACT), np.bool_)


def _broken_look(evidence: Evidence, name: int, index: int, bad: Bools, content: int) -> Iterator[Anomaly]:
    """One class of wrong bytes seen by one look, split by what excuses it."""
    mention, plan = evidence.plan.mentions[index], evidence.plan
    word, got = plan.names[name], Content(min(content, Content.TORN)).name.lower()
    groups: dict[tuple[str, Mention], list[int]] = defaultdict(list)
    for number in np.flatnonzero(bad).tolist():
        property_id = _broken_property(evidence, name, index, number, content)
        groups[property_id, _writer(evidence, name, number, mention.site)].append(number)
    for (property_id, writer), rounds in groups.items():
        grown = property_id == "size.grow"
        delays = evidence.invoked[rounds, index] - evidence.complete[rounds, name]
        yield Anomaly(
            "stale-size" if grown else got, property_id, tuple(rounds), word,
            ((writer.lane, writer.step), (mention.lane, mention.step)),
            f"expected all bytes of {word} from {mention.kind}, got {got} content",
            tuple(delays.tolist()) if grown else (), mention.observer, "known" if grown else "",
            writer.kind, writer.site, mention.site,
        )  # fmt: skip


def _writer(evidence: Evidence, name: int, number: int, observing: str) -> Mention:
    """Who may have made the bytes in a round: one that took effect, of another site than the reader's if there is."""
    creators = [creator.mention for creator in evidence.plan.creators[name]]
    effective = [maker for maker in creators if evidence.kind[number, maker] in _EFFECTIVE] or creators
    makers = [evidence.plan.mentions[maker] for maker in effective]
    return next((maker for maker in makers if maker.site != observing), makers[0])


def _broken_property(evidence: Evidence, name: int, index: int, number: int, content: int) -> str:
    plan = evidence.plan
    in_place = evidence.complete[number, name] > -INF
    if in_place and content == Content.SHORT and evidence.known_before(number, index):
        return "size.grow"
    for made, look in zip(*plan.after_eexist, strict=True):
        if look == index and evidence.kind[number, made] == OnceKind.LOSE and not in_place:
            return "exclusive.loser-sees"
    return "atomic.content" if plan.replaced[name] else "content.complete"
