"""Operations of a small job fail, are cut short or are the last ones; `make faults` tries all of them."""

from pathlib import Path

import pytest

from faults.injection import FAULTS
from faults.quick_job import Wish, run_quickly, served
from faults.trial import check_served, fault_and_mend, mend, operations, scratch, suffer, whole

WISH = Wish(moments=2)


@pytest.fixture(scope="module")
def count() -> int:
    with scratch() as folder:
        return operations(WISH, folder / "out")


def test_a_job_has_operations_enough_and_gives_the_same_bits(count: int, tmp_path: Path) -> None:
    assert 200 < count < 2000
    run_quickly(WISH, tmp_path / "out")
    assert served(tmp_path / "out") == whole(WISH)
    # what is shown above would hold of a reader that serves nothing
    assert len(whole(WISH)) == 1 + 2 * 11 + 3


@pytest.mark.parametrize("kind", FAULTS)
def test_no_operation_may_lose_or_block(kind: str, count: int) -> None:
    ends = set()
    first = FAULTS.index(kind)
    for at in range(first, count, 90):  # another part for each kind
        with scratch() as folder:
            ends.add(fault_and_mend(WISH, folder / "out", kind, at)[:4])
    assert ends <= {"kill": {"kill"}, "torn": {"kill"}, "late": {"done"}}.get(kind, ends)


@pytest.mark.parametrize("kind", ["kill", "fail"])
def test_a_finished_result_survives_a_fault_of_a_later_run(kind: str) -> None:
    other = Wish(moments=3, iterations=2)
    for at in range(5, 300, 140):
        with scratch() as folder:
            run_quickly(WISH, folder / "out")
            suffer(other, folder / "out", kind, at)
            check_served(folder / "out", WISH, other)
            mend(other, folder / "out")
