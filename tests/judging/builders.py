"""Sites, promises and observations for the tests of judging."""

from __future__ import annotations

from fsconform.vocabulary.observations import INF_NS, LatencyTrial, Observation
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength
from fsconform.vocabulary.sites import Mount, Site, parse_site

MS = 1_000_000
S = 1_000_000_000


def make_site(
    fstype: str = "fuse.hf3fs", source: str = "hf3fs.test", kernel: str = "6.12.0-1-amd64", letter: str = "a",
    options: str = "rw", client: dict[str, str] | None = None,
) -> Site:  # fmt: skip
    mount = Mount("0:50", "/mnt", fstype, source, options)
    return Site(
        letter, parse_site("/mnt"), "/mnt", "host", "boot", "time:[1]", kernel, "3.11", 0, 0, mount, False, 1 << 40,
        1 << 20, tuple((client or {}).items()),
    )  # fmt: skip


def within(seconds: float, slack_s: float | None = None) -> Promise:
    bound = Bound("negative", seconds, BoundOrigin.ASSUMED)
    return Promise(Strength.WITHIN, Evidence.SOURCE, "a source", bound, slack_s=slack_s)


def plain(strength: Strength) -> Promise:
    return Promise(strength, Evidence.SOURCE, "a source")


def unsupported(*errnos: str) -> Promise:
    return Promise(Strength.UNSUPPORTED, Evidence.SOURCE, "a source", errnos=errnos)


GUARANTEED, OPTIONAL, NOTHING = plain(Strength.GUARANTEED), plain(Strength.OPTIONAL), plain(Strength.NOT_PROMISED)


def trial(lo: int, hi: int = INF_NS) -> LatencyTrial:
    return LatencyTrial(lo, hi, last=max(lo, 0 if hi >= INF_NS else hi) + S)


def latency(*trials: LatencyTrial, fill: int = 0, attempted: int | None = None) -> Observation:
    count = len(trials) if attempted is None else attempted
    return Observation(count, len(trials), latency=trials, longest_fill_ns=fill)


def rounds(violations: int, informative: int, attempted: int | None = None, refused: str = "") -> Observation:
    return Observation(informative if attempted is None else attempted, informative, violations, refused=refused)
