"""What `lab=` may say, and what it is told where it says something else."""

from __future__ import annotations

import pytest

from fsconform.lab.mutants import MUTANTS
from fsconform.lab.presets import PRESETS
from fsconform.lab.spec import names, parse_lab
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.properties import PROPERTIES


def test_presets_have_the_timeouts_of_what_they_model() -> None:
    strict, default, model = (parse_lab(name).timeouts for name in ("strict", "fuse-default", "3fs-fuse"))
    assert (strict.entry, strict.attr, strict.negative, strict.symlink) == (0, 0, 0, 0)
    assert (default.entry, default.attr, default.negative) == (1, 1, 0)
    assert (model.entry, model.attr, model.negative, model.symlink) == (30, 30, 5, 5)


def test_keys_override_the_preset() -> None:
    spec = parse_lab("3fs-fuse,mounts=3,negative=0.5,collect=2,capacity=64m")
    assert (spec.mounts, spec.timeouts.negative, spec.timeouts.entry) == (3, 0.5, 30)
    assert (spec.knobs.collect, spec.knobs.capacity) == (2.0, 64 << 20)


def test_the_source_tells_labs_apart_without_their_number_of_mounts() -> None:
    assert parse_lab("strict").source == "fsconform:strict"
    assert parse_lab("strict,mounts=3,mutant=rename-gap,p=0.5").source == "fsconform:strict,mutant=rename-gap,p=0.5"


def test_a_mutant_brings_its_window_unless_the_text_has_one() -> None:
    assert parse_lab("strict,mutant=hang").knobs.window == MUTANTS["hang"].window
    assert parse_lab("strict,window=3,mutant=hang").knobs.window == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("strickt", ["strickt", "strict"]),
        ("", ["unknown lab", "strict"]),
        ("strict,mutant=rename-gab", ["rename-gab", "rename-gap"]),
        ("strict,negativ=1", ["negativ", "negative"]),
        ("strict,negative", ["needs a value"]),
        ("strict,negative=1s", ["negative=1s", "without unit"]),
        ("strict,negative=-1", ["0 or more"]),
        ("strict,negative=nan", ["0 or more"]),
        ("strict,p=2", ["probability"]),
        ("strict,mounts=0", ["mounts"]),
        ("strict,mounts=27", ["mounts"]),
        ("strict,capacity=big", ["bytes"]),
        ("strict,op=reed,mutant=hang", ["reed", "read"]),
        ("strict,data=cashed", ["cashed", "cached"]),
        ("strict,match=a b", ["match"]),
    ],
)
def test_a_wrong_word_is_named_with_the_nearest_right_one(text: str, words: list[str]) -> None:
    with pytest.raises(CannotTestError) as caught:
        parse_lab(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_every_property_can_be_broken() -> None:
    by_mutants = set().union(*(mutant.properties for mutant in MUTANTS.values()))
    by_real_clients = {"exclusive.winner-in-step"}  # lab=nfs3,collide: tests/product/test_collisions.py
    assert by_mutants | by_real_clients == set(PROPERTIES) and not by_mutants & by_real_clients


def test_the_list_has_every_preset_and_mutant() -> None:
    listed = {(kind, name) for kind, name, _ in names()}
    assert listed == {("preset", name) for name in PRESETS} | {("mutant", name) for name in MUTANTS}
    assert all(summary for _, _, summary in names())
