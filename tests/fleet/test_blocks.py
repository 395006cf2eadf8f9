"""Blocks: what was read is told apart exactly, for every way of damaging it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconform.fleet.worker import blocks
from fsconform.vocabulary.blocks import PAGE, Content, content_of, version_of

KEY, OTHER = "a" * 64, "b" * 64
SIZES = st.sampled_from([1, 40, 100, PAGE - 1, PAGE, PAGE + 1, PAGE + 100, 3 * PAGE, 16 * PAGE])
VERSIONS = st.sampled_from([0, 1, 2, 7, 1 << 32 | 3])


def classify(data: bytes, version: int, size: int) -> tuple[Content, int, int]:
    value, length = blocks.verify(data, KEY, version, size)
    return content_of(value), version_of(value), length


def test_numbers_are_those_of_the_vocabulary() -> None:
    assert {name: getattr(blocks, name) for name in Content.__members__} == {c.name: c.value for c in Content}
    assert blocks.PAGE == PAGE


@given(VERSIONS, SIZES)
def test_exact(version: int, size: int) -> None:
    data = blocks.make(KEY, version, size)
    assert len(data) == size
    assert classify(data, version, size) == (Content.EXACT, version, size)


@given(st.sampled_from([1, 2, 1 << 32 | 3]), st.sampled_from([PAGE, 2 * PAGE + 5]))
def test_any_version_is_told_from_the_pages(version: int, size: int) -> None:
    assert classify(blocks.make(KEY, version, size), 0, 0) == (Content.EXACT, version, size)


@given(st.sampled_from([PAGE, 3 * PAGE]))
def test_another_whole_version_is_exact_with_its_number(size: int) -> None:
    assert classify(blocks.make(KEY, 3, 2 * PAGE), 5, size) == (Content.EXACT, 3, 2 * PAGE)


@given(VERSIONS, SIZES, st.data())
def test_prefix_is_short_and_extension_is_long(version: int, size: int, data: st.DataObject) -> None:
    whole = blocks.make(KEY, version, size)
    cut = data.draw(st.integers(0, size - 1))
    assert classify(whole[:cut], version, size) == (Content.SHORT, version, cut)
    more = data.draw(st.binary(min_size=1, max_size=5000))
    assert classify(whole + more, version, size) == (Content.LONG, version, size + len(more))


def test_empty_read_of_any_version_is_short() -> None:
    assert classify(b"", 0, 0) == (Content.SHORT, 0, 0)


def replaced(whole: bytes, page: int, content: bytes) -> bytes:
    """`whole` with one page replaced."""
    end = min((page + 1) * PAGE, len(whole))
    return whole[: page * PAGE] + content[: end - page * PAGE] + whole[end:]


@given(VERSIONS, st.integers(0, 2))
def test_page_of_zeros(version: int, page: int) -> None:
    whole = blocks.make(KEY, version, 3 * PAGE)
    assert classify(replaced(whole, page, bytes(PAGE)), version, 3 * PAGE)[0] is Content.ZERO


@given(VERSIONS, st.integers(0, 2), st.integers(0, 2), VERSIONS)
def test_page_of_another_block(version: int, page: int, source: int, other_version: int) -> None:
    whole, other = blocks.make(KEY, version, 3 * PAGE), blocks.make(OTHER, other_version, 3 * PAGE)
    damaged = replaced(whole, page, other[source * PAGE :])
    assert classify(damaged, version, 3 * PAGE)[0] is Content.FOREIGN


def test_another_page_of_this_block() -> None:
    for version in (0, 4):
        whole = blocks.make(KEY, version, 3 * PAGE)
        assert classify(replaced(whole, 2, whole[:PAGE]), version, 3 * PAGE)[0] is Content.FOREIGN


def test_whole_other_block() -> None:
    assert classify(blocks.make(OTHER, 0, 2 * PAGE), 0, 2 * PAGE)[0] is Content.FOREIGN
    assert classify(blocks.make(OTHER, 1, 2 * PAGE), 0, 0)[0] is Content.FOREIGN


@given(st.integers(0, 2))
def test_pages_of_two_versions_are_torn(page: int) -> None:
    old, new = blocks.make(KEY, 1, 3 * PAGE), blocks.make(KEY, 2, 3 * PAGE)
    mixed = replaced(new, page, old[page * PAGE :])
    assert classify(mixed, 2, 3 * PAGE)[0] is Content.TORN
    assert classify(mixed, 0, 0)[0] is Content.TORN


@given(VERSIONS, st.integers(0, 3 * PAGE - 1), st.integers(1, 255))
def test_one_wrong_byte_is_torn(version: int, place: int, change: int) -> None:
    damaged = bytearray(blocks.make(KEY, version, 3 * PAGE))
    damaged[place] ^= change
    assert classify(bytes(damaged), version, 3 * PAGE)[0] in (Content.TORN, Content.FOREIGN)
    assert classify(bytes(damaged), version, 3 * PAGE)[0] is not Content.EXACT


@given(st.binary(min_size=1, max_size=9000), st.sampled_from([0, 1]), st.sampled_from([0, 100, PAGE]))
def test_arbitrary_bytes_never_pass(data: bytes, version: int, size: int) -> None:
    if size or not version:
        assert classify(data, version, size)[0] is not Content.EXACT


def test_header_with_an_absurd_length_is_not_believed() -> None:
    page = bytearray(blocks.make(KEY, 1, PAGE))
    page[16:24] = b"\xff" * 8
    assert classify(bytes(page), 0, 0)[0] is not Content.EXACT


def test_cache_stays_bounded() -> None:
    for number in range(40):
        blocks.make(f"{number:064x}", 0, 4 << 20)
    assert sum(map(len, blocks._cache.values())) <= 64 << 20
