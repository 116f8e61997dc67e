"""Everything that can happen to a result, in any order: whatever is served is right, and a run mends it."""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from faults.injection import FAULTS, injected
from faults.quick_job import Wish, run_quickly
from faults.trial import check_served, mend, scratch, suffer
from wideflow.storage.schema import OF_B

WISHES = st.builds(
    Wish,
    first=st.integers(0, 1),
    moments=st.integers(2, 4),
    seed=st.integers(0, 1),
    iterations=st.integers(1, 2),
    keep=st.sampled_from([(), ("loop_flow",), ("colour_transform", "covariance"), tuple(OF_B)]),
    lift_version=st.integers(1, 2),
    discard_work=st.booleans(),
)


class ResultMachine(RuleBasedStateMachine):
    """Run, kill, damage, change settings, upgrade, shrink, grow, resume."""

    def __init__(self) -> None:
        super().__init__()
        self._scratch = scratch()
        self.out = self._scratch.__enter__() / "out"
        self.tried: list[Wish] = []
        self.wish = Wish()

    def teardown(self) -> None:
        self._scratch.__exit__(None, None, None)

    @initialize(wish=WISHES)
    def begin(self, wish: Wish) -> None:
        self.wish = wish
        self._run()

    @rule()
    def resume(self) -> None:
        mend(self.wish, self.out)
        self.tried = [self.wish]

    @rule(wish=WISHES)
    def change(self, wish: Wish) -> None:
        self.wish = wish
        self._run()

    @rule(wish=WISHES, at=st.integers(0, 400), kind=st.sampled_from(FAULTS))
    def suffer(self, wish: Wish, at: int, kind: str) -> None:
        self.wish = wish
        self.tried.append(wish)
        suffer(wish, self.out, kind, at)

    # a seed: sizes of files depend on the clock, and what is drawn from Hypothesis must not
    @rule(seed=st.integers(0, 2**32 - 1), how=st.sampled_from(["flip", "cut", "empty", "remove"]))
    def damage(self, seed: int, how: str) -> None:
        chance = random.Random(seed)
        files = sorted(path for path in self.out.rglob("*") if path.is_file() and path.suffix != ".txt")
        if files:
            spoil(chance.choice(files), how, chance)

    @rule(name=st.sampled_from(["work", "checksums", "result.zarr/depth", "work/stereo"]))
    def lose(self, name: str) -> None:
        shutil.rmtree(self.out / name, ignore_errors=True)

    @invariant()
    def what_is_served_is_right(self) -> None:
        check_served(self.out, *self.tried)

    def _run(self) -> None:
        self.tried.append(self.wish)
        with injected(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_quickly(self.wish, self.out)


def spoil(path: Path, how: str, chance: random.Random) -> None:
    """Damage a file."""
    content = bytearray(path.read_bytes())
    if how == "remove" or not content:
        path.unlink()
        return
    if how == "flip":
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(b"" if how == "empty" else content[: len(content) // 2] if how == "cut" else content)
