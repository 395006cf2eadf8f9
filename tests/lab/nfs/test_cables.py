"""Cables: a guest that slept over a frame is told of it again, and gets it once."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from fsconform.lab.nfs.cables import PATIENCE, Cable


@pytest.fixture
def cable() -> Iterator[Cable]:
    made = Cable()
    yield made
    made.close()


def sleeper(end: socket.socket) -> select.epoll:
    """Who is told of a frame only when it comes, as a guest is."""
    edges = select.epoll()
    edges.register(end, select.EPOLLIN | select.EPOLLET)
    return edges


def test_a_frame_that_was_slept_over_is_told_of_again(cable: Cable) -> None:
    server, client = cable.ends
    with sleeper(client) as edges:
        server.send(b"first")
        server.send(b"second")
        assert edges.poll(1.0) and not edges.poll(0.0)
        for _ in range(PATIENCE):
            cable.look()
        assert edges.poll(1.0), "told again"
    assert sorted(client.recv(100) for _ in range(2)) == [b"first", b"second"]
    with pytest.raises(BlockingIOError):
        client.recv(100, socket.MSG_DONTWAIT)


def test_a_guest_that_takes_its_frames_is_left_alone(cable: Cable) -> None:
    server, client = cable.ends
    for _ in range(3 * PATIENCE):
        server.send(b"frame")
        with sleeper(client) as edges:
            edges.poll(1.0)
            assert client.recv(100) == b"frame"
            cable.look()
            assert not edges.poll(0.0)
