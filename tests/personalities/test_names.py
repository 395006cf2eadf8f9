"""Names and contents: the published vectors, and that no interpreter setting changes them."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from fsconform.personalities.replay import contents, names, suffixes
from fsconform.vocabulary.blocks import Content
from tests.fleet.conftest import old_python

HASHES = names.block_hashes("123", 67, 64)


def test_the_seed_is_one_canonical_text() -> None:
    assert names.cbor("123") == bytes.fromhex("63313233")
    assert names.none_hash("123").hex() == "9bf5bb3e4bd40e48b2a893d8928a13c0289f9a74404437ffc44070135c95f290"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"), (23, "17"), (24, "1818"), (255, "18ff"), (256, "190100"), (65536, "1a00010000"),
        (2**32, "1b0000000100000000"), (b"\x01", "4101"), (None, "f6"), ([1, [2]], "8201" + "8102"), ("", "60"),
    ],
)  # fmt: skip
def test_canonical_cbor(value: object, expected: str) -> None:
    assert names.cbor(value).hex() == expected


@pytest.mark.parametrize("value", [-1, 1.5, True, 2**64, {}])
def test_what_has_no_form_here_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        names.cbor(value)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (0, "5bff99f5ccbb71235492fa7b91f45449ac3b2ae2df8dbf57503a10fcc464d6df"),
        (1, "a00a74aa150d4f3ca858fc2917fe3dde3e8d01c93c5a595b3cfddc0376a3bc4c"),
        (66, "c6b509092b8fe80af0a51e9f6eed835552ec5fc8b4b49113fc24626766e1d86a"),
    ],
)
def test_vectors_of_the_chain(block: int, expected: str) -> None:
    assert HASHES[block].hex() == expected


def test_all_names_together() -> None:
    joined = "\n".join(digest.hex() for digest in HASHES)
    assert hashlib.sha256(joined.encode()).hexdigest() == (
        "4e904b7869c775c3d6308e6c03677c4d6aa09a791f1887f5b4ac06c2f16498bd"
    )
    leaves = {os.path.dirname(names.block_path(digest)) for digest in HASHES}
    assert (len({os.path.dirname(leaf) for leaf in leaves}), len(leaves)) == (66, 67)


def test_small_gpu_blocks_in_one_chunk() -> None:
    """Four GPU blocks of 16 tokens to a chunk: the chunk's key is every fourth hash."""
    keys = names.block_hashes("123", 268, 16)[3::4]
    assert keys[0].hex() == "d3055d0dd48f2ef93bcdaec627587b596320718faf789d22bfb7758100e03c99"
    assert keys[66].hex() == "dcb6595b9d6a5607849ba919490910a1b727425beb58bc26a5d95faae13e2a23"


def test_the_path_of_a_block() -> None:
    assert names.block_path(HASHES[0]) == (
        "fsconform_replay-8b_89e1016d7b3a_r0/5bf/f9_g0/"
        "5bff99f5ccbb71235492fa7b91f45449ac3b2ae2df8dbf57503a10fcc464d6df.bin"
    )
    assert names.CONFIG == "fsconform_replay-8b_89e1016d7b3a/config.json"


def derived(interpreter: str, hash_seed: str, seed: str = "123") -> bytes:
    """The names as an interpreter of its own derives them from the file that is sent to sites."""
    script = (
        "import runpy, sys; m = runpy.run_path(sys.argv[1]); "
        "print('\\n'.join(d.hex() for d in m['block_hashes'](sys.argv[2], 67, 64)))"
    )
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": hash_seed}
    command = [interpreter, "-c", script, str(Path(names.__file__)), seed]
    return subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True).stdout


def test_interpreters_with_different_hash_seeds_agree() -> None:
    expected = "".join(f"{digest.hex()}\n" for digest in HASHES).encode()
    interpreters = [sys.executable, *filter(None, [old_python()])]
    for interpreter in interpreters:
        assert {derived(interpreter, seed) for seed in ("0", "1", "4294967295", "random")} == {expected}


def test_another_seed_string_gives_other_names() -> None:
    other = names.block_hashes("124", 67, 64)
    assert not set(HASHES) & set(other)


def test_the_contents_of_block_0() -> None:
    content = contents.make(HASHES[0], 8 << 20)
    assert hashlib.sha256(content).hexdigest() == "8f6c7ab286ff98d449d6861972eba29f43bf9e81384d00249f6fc880ca41b88a"


SIZE = 3 * contents.PAGE
PAGES = [contents.make(digest, SIZE) for digest in HASHES[:3]]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PAGES[1], (Content.EXACT, -1)),
        (PAGES[1][:5000], (Content.SHORT, -1)),
        (b"", (Content.SHORT, -1)),
        (PAGES[1] + b"x", (Content.LONG, -1)),
        (PAGES[1][:4096] + bytes(8192), (Content.ZERO, -1)),
        (bytes(SIZE), (Content.ZERO, -1)),
        (PAGES[1][:4096] + PAGES[2][4096:], (Content.FOREIGN, 2)),
        (PAGES[1][4096:8192] + PAGES[1][4096:], (Content.FOREIGN, 1)),
        (PAGES[1][:4096] + PAGES[2][4096:8192] + b"\xa5" * 4096, (Content.TORN, -1)),
        (PAGES[1][:100] + PAGES[0][100:], (Content.TORN, -1)),
        (PAGES[2][:5000], (Content.TORN, -1)),
    ],
)
def test_wrong_contents_are_told_apart(data: bytes, expected: tuple[int, int]) -> None:
    assert contents.classify(data, HASHES[:3], 1, SIZE) == expected


def test_equal_seeds_draw_equal_suffixes() -> None:
    drawn = [suffixes.Suffixes(0) for _ in range(2)]
    assert [source.draw() for source in drawn] == [7106521602475165645] * 2
    assert [source.of("write-3", source.reserve()) for source in drawn] == [746805015404516437] * 2
    random.seed(0)
    assert random.randint(0, 2**63 - 1) == 7106521602475165645


def test_a_thread_keeps_its_suffix() -> None:
    source = suffixes.Suffixes(None)
    assert source.reserve() is None
    assert source.of("read-1", None) == source.of("read-1", None)
    assert source.of("read-1", None) != source.of("read-2", None)
