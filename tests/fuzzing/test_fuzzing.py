"""A little of what `make fuzz` does, and all that it has found so far."""

import random
from pathlib import Path

import pytest

from fuzzing.targets import CORPUS, targets
from fuzzing.trial import try_file

TARGETS = targets()


@pytest.mark.parametrize("name", TARGETS)
def test_malformed_files_are_refused(name: str, tmp_path: Path) -> None:
    target, chance = TARGETS[name], random.Random(name)
    (seed,) = target.seeds()
    try_file(target, seed, tmp_path)
    for _ in range(8):
        try_file(target, target.mutate(seed, chance), tmp_path)


def test_what_was_found_once_stays_mended(tmp_path: Path) -> None:
    by_name = {name.replace("/", "_").replace(" ", "_"): target for name, target in TARGETS.items()}
    for kept in sorted(CORPUS.glob("[!.]*.*")):
        try_file(by_name[kept.name.split(".", 1)[1]], kept.read_bytes(), tmp_path)
