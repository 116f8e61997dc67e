"""Faults in object storage, and with workers."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest

from faults.places import cluster, object_storage
from faults.quick_job import Wish, run_quickly, served
from faults.trial import fault_and_mend, operations, scratch, whole
from wideflow.errors import FileError
from wideflow.storage import lock
from wideflow.storage.lock import Claim, locked
from wideflow.storage.place import Place

pytest.importorskip("s3fs", reason="needs the extra cloud")
pytest.importorskip("moto.server", reason="needs moto's server")
WISH = Wish(moments=2)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with object_storage() as url:
        yield url


@pytest.fixture
def quick_lock() -> Iterator[None]:
    with patch.object(lock, "PATIENCE", 0.3), patch.object(lock, "BEAT", 0.05):
        yield


@pytest.mark.parametrize("kind", ["kill", "fail"])
def test_object_storage_loses_nothing(kind: str, bucket: str) -> None:
    count = operations(WISH, f"{bucket}/count-{kind}")
    assert count > 100
    for at in range(7, count, count // 2):
        fault_and_mend(WISH, f"{bucket}/{kind}{at}", kind, at)


def test_workers_lose_nothing() -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    with cluster() as address, scratch() as folder:
        count = operations(WISH, folder / "count", address)
        for at in range(60, count, count // 2):
            fault_and_mend(WISH, folder / f"kill{at}", "kill", at, address)


def test_a_lock_is_kept_for_as_long_as_its_owner_lives(bucket: str, quick_lock: None) -> None:
    place = Place(f"{bucket}/long")
    with locked(place) as claim:
        threading.Event().wait(3 * lock.PATIENCE)  # far longer than it counts without a sign of life
        with pytest.raises(FileError, match=r"another run \(process \d+ on"), locked(place):
            pass
        claim.check(place)
    assert place.names("lock") == []


def test_of_two_that_start_at_once_one_gets_it(bucket: str, quick_lock: None) -> None:
    for trial in range(3):
        place, start = Place(f"{bucket}/once{trial}"), threading.Barrier(3)
        with ThreadPoolExecutor(3) as pool:
            got = [each.result() for each in [pool.submit(takes, place, start) for _ in range(3)]]
        assert sum(got) <= 1


def takes(place: Place, start: threading.Barrier) -> bool:
    """Whether the lock was had, together with others that try."""
    start.wait()
    try:
        with locked(place):
            threading.Event().wait(0.3)
            return True
    except FileError:
        return False


def test_an_owner_that_slept_notices_and_removes_nothing(bucket: str, quick_lock: None) -> None:
    place = Place(f"{bucket}/slept")
    sleeper = Claim(1, "sleeper")
    place.write("lock/000001.json", json.dumps({"token": "sleeper", "machine": "elsewhere"}).encode())
    with locked(place) as owner:
        assert owner.number == 2
        with pytest.raises(FileError, match="has taken over"):
            sleeper.check(place)
        owner.check(place)
    assert place.names("lock") == []


@pytest.mark.parametrize("content", [b"", b"null", b"[1]", b'{"alive": 9e99, "process": "x"}', b"\xff"])
def test_a_damaged_or_future_lock_does_not_block(content: bytes, bucket: str, quick_lock: None) -> None:
    place = Place(f"{bucket}/odd{len(content)}")
    place.write("lock/000001.json", content)
    with locked(place) as claim:
        claim.check(place)


def test_a_storage_without_conditional_writes_is_said_to_be_unsafe(
    bucket: str, quick_lock: None, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(f"{bucket}/unsafe")
    with locked(place):
        pass
    assert "cannot lock" not in caplog.text

    def overwrites(self: Place, name: str, content: bytes) -> bool:
        self.write(name, content)
        return True

    with patch.object(Place, "create", overwrites), locked(place):
        pass
    assert "cannot lock" in caplog.text


def test_a_run_that_lost_its_lock_writes_nothing_more(bucket: str) -> None:
    out = f"{bucket}/lost"
    place = Place(out)
    taken: list[int] = []
    put = Place.write

    def write(self: Place, name: str, content: bytes, wait: bool = True) -> None:
        put(self, name, content, wait)
        if "work/stereo" in name and not taken:  # another takes over while this one works
            taken.append(1)
            put(place, "lock/000002.json", b'{"token": "other"}')

    with patch.object(Place, "write", write), pytest.raises(FileError, match="has taken over"):
        run_quickly(WISH, out)
    assert place.names("lock") == ["000002.json"]
    assert [name for name in place.names("work/stereo") if name.endswith(".json")] == []
    assert not place.exists("timings.json")
    assert "depth 0" not in served(out)
    place.remove("lock/000002.json")
    run_quickly(WISH, out)
    assert served(out) == whole(WISH)
