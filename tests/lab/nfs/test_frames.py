"""The serial line: frames in any portions, one under way at a time, long data through files, lost wake-ups."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconform.lab.nfs import frames, line
from fsconform.lab.nfs.line import GuestError, Line

_frame = st.tuples(st.integers(1, 9), st.integers(0, 65535), st.binary(max_size=300))


@given(st.lists(_frame, max_size=20), st.lists(st.integers(1, 400), min_size=1))
def test_frames_survive_any_portions(sent: list[tuple[int, int, bytes]], portions: list[int]) -> None:
    data = b"".join(frames.pack(*frame) for frame in sent)
    reader, turn = frames.Reader(), 0
    seen: list[tuple[int, int, bytes]] = []
    while data:
        size = portions[turn % len(portions)]
        turn += 1
        seen += reader.feed(data[:size])
        data = data[size:]
    assert seen == sent


@given(st.binary(max_size=5 * frames.PIECE))
def test_pieces_fit_and_join(data: bytes) -> None:
    parts = frames.pieces(data)
    assert b"".join(parts) == data
    assert all(len(frames.pack(frames.DATA, 1, part)) < 2048 for part in parts)


def test_a_frame_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        frames.pack(frames.CALL, 0, bytes(frames.PIECE + 1))


class FakeGuest:
    """The other end of a line."""

    def __init__(self, directory: Path) -> None:
        ours, self.end = socket.socketpair()
        self.end.setblocking(False)
        self.alive = True
        self.taken: list[tuple[int, int, bytes]] = []
        self.files = frames.Files(str(directory), "from-guest-")
        self.line = Line(ours, directory, lambda: self.alive, lambda *frame: self.taken.append(frame))
        self._reader = frames.Reader()

    def arrived(self) -> list[tuple[int, int, bytes]]:
        """The frames that have come and were not acknowledged yet."""
        try:
            return list(self._reader.feed(self.end.recv(1 << 16)))
        except BlockingIOError:
            return []

    def send(self, kind: int, stream: int = 1, payload: bytes = b"") -> None:
        """Send a frame and let it be read."""
        self.end.sendall(frames.pack(kind, stream, payload))
        self.line.read()


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[FakeGuest]:
    """A line with a guest that does what the test says."""
    fake = FakeGuest(tmp_path)
    yield fake
    fake.line.end.close()
    fake.end.close()


def test_one_frame_at_a_time_is_under_way(guest: FakeGuest) -> None:
    data = bytes(range(256)) * 16
    guest.line.send(frames.DATA, 7, data)
    guest.line.send(frames.END, 7)
    seen = []
    while frame := guest.arrived():
        assert len(frame) == 1
        seen += frame
        guest.send(frames.ACK)
    assert b"".join(payload for kind, _, payload in seen if kind == frames.DATA) == data
    assert seen[-1] == (frames.END, 7, b"")


def test_long_data_goes_through_files_both_ways(guest: FakeGuest, tmp_path: Path) -> None:
    data = bytes(3 << 20)
    guest.line.send(frames.DATA, 7, data)
    ((kind, stream, name),) = guest.arrived()
    assert (kind, stream) == (frames.FILE, 7)
    assert guest.files.take(name) == data
    guest.send(frames.FILE, 9, guest.files.put(data))
    assert guest.taken == [(frames.DATA, 9, data)]
    assert list(tmp_path.iterdir()) == []


def test_a_lost_wake_up_is_made_good(guest: FakeGuest, monkeypatch: pytest.MonkeyPatch) -> None:
    guest.line.send(frames.DATA, 1, b"x")
    guest.line.tend()
    assert [kind for kind, _, _ in guest.arrived()] == [frames.DATA]
    monkeypatch.setattr(line, "NUDGE_S", -1.0)
    guest.line.tend()
    assert [kind for kind, _, _ in guest.arrived()] == [frames.NUDGE]
    guest.send(frames.ACK)
    guest.line.tend()
    assert guest.arrived() == []


def test_calls_have_answers_errors_and_deadlines(guest: FakeGuest) -> None:
    guest.end.sendall(frames.pack(frames.RESULT, 0, json.dumps({"value": [1, 2], "error": ""}).encode()))
    assert guest.line.call("clock", {}) == [1, 2]
    guest.end.sendall(frames.pack(frames.RESULT, 0, json.dumps({"value": None, "error": "OSError: no"}).encode()))
    with pytest.raises(GuestError, match="OSError: no"):
        guest.line.call("mount", {})
    with pytest.raises(GuestError, match=r"no answer within 0\.01 s"):
        guest.line.call("clock", {}, 0.01)
    guest.alive = False
    with pytest.raises(GuestError, match="it ended"):
        guest.line.tend()
    guest.end.close()
    with pytest.raises(GuestError):
        guest.line.call("clock", {})
