"""What must not happen to a result: each of these was tried, and some of them lost or mixed results once."""

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import xarray

from faults.injection import Fault, FaultyDisk, Killed, injected
from faults.machine import spoil
from faults.quick_job import Wish, quick_step, run_quickly, served
from faults.trial import check_served, scratch, suffer, whole
from wideflow.cli import main
from wideflow.errors import DamagedError, FileError, InputError
from wideflow.files.disk import TEMPORARY
from wideflow.pipeline.outputs import write_step
from wideflow.storage import place as place_module
from wideflow.storage.checked_files import find_file, write_files
from wideflow.storage.disk import Disk
from wideflow.storage.packed import pack, unpack
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS
from wideflow.storage.sealed import seal, unseal
from wideflow.storage.store import Store

WISH = Wish()


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as made:
        yield made


@pytest.fixture
def out(folder: Path, finished: Path) -> Path:
    """A finished result of three moments."""
    return shutil.copytree(finished, folder / "out")


@pytest.fixture(scope="module")
def finished() -> Iterator[Path]:
    with scratch() as made:
        run_quickly(WISH, made / "out")
        yield made / "out"


def run_again(out: Path, wish: Wish = WISH) -> list[str]:
    """What the run says while it mends a result; afterwards it is whole."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run_quickly(wish, out)
    assert served(out) == whole(wish)
    return [str(each.message) for each in said]


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.EACCES, errno.ETIMEDOUT])
def test_a_passing_error_while_the_store_is_opened_loses_nothing(code: int, out: Path) -> None:
    before = served(out)

    class Shaky(FaultyDisk):
        def read(self, path: Path) -> bytes:
            if "result.zarr" in path.parts or "checksums" in path.parts:
                raise OSError(code, os.strerror(code))
            return super().read(path)

    with patch.object(place_module, "DISK", Shaky(Fault())):
        with pytest.raises(FileError):
            run_quickly(WISH, out)
        with pytest.raises(FileError):
            Result(out)
    assert served(out) == before


def test_damaged_metadata_of_an_array_is_written_again(out: Path) -> None:
    before = (out / "result.zarr/depth/zarr.json").read_bytes()
    (out / "result.zarr/depth/zarr.json").write_bytes(b"")
    assert main(["check-result", str(out), "-q"]) == 3
    run_again(out)
    assert (out / "result.zarr/depth/zarr.json").read_bytes() == before
    assert main(["check-result", str(out), "-q"]) == 0


def test_what_is_not_ours_is_refused_and_untouched(folder: Path) -> None:
    import zarr

    zarr.create_array(folder / "out" / "result.zarr", shape=(3,), dtype="f4", attributes={"title": "mine"})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(FileError, match="was not written by Wideflow"):
        run_quickly(WISH, folder / "out")
    for path, content in before.items():
        assert path.read_bytes() == content


def test_opening_never_writes(out: Path) -> None:
    state = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    with injected() as fault:
        fault.kind, fault.at = "full", 0  # no write is possible
        Store.open(Place(out)).get("depth", 0)
        Result(out).motion(1)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == state
    with pytest.raises(FileError):
        Store.open(Place(out / "nothing"))
    assert not (out / "nothing").exists()


def test_an_upgrade_never_mixes_and_says_what_it_does(out: Path) -> None:
    newer = Wish(lift_version=2)
    for at in range(60, 200, 60):
        suffer(newer, out, "kill", at)
        check_served(out, WISH, newer)
    run_again(out, newer)
    summary = Result(out).summary
    assert summary["made"]["stages"]["lift"] == 2
    assert summary["made"]["stages"]["match"] == 1
    assert [t for times in summary["made"]["moments"].values() for t in times] == [0, 1, 2]
    said = run_again(out, WISH)
    assert any("lift of this version gives other values" in sentence for sentence in said)


def test_a_kill_while_a_note_is_written_blocks_nobody(out: Path) -> None:
    left = [out / "work/stereo" / f"{TEMPORARY}0123456789ab.json", out / f"{TEMPORARY}0123456789ab"]
    left += [out / "result.zarr/depth/c" / f"{TEMPORARY}ab", out / "checksums" / f"{TEMPORARY}ab.json"]
    for path in left:
        path.touch()
    run_again(out)
    assert not any(path.exists() for path in left)


def test_a_shorter_run_that_is_killed_costs_nothing_of_the_longer() -> None:
    with scratch() as folder:
        for at in range(20, 120, 17):
            result = folder / f"out{at}"
            run_quickly(WISH, result)
            suffer(Wish(moments=2), result, "kill", at)
            check_served(result, WISH, Wish(moments=2))
            run_again(result)


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "remove"])
@pytest.mark.parametrize(
    "what",
    [
        "result.zarr/depth/c/1",
        "result.zarr/depth_steady/c/1",
        "result.zarr/picture_a/c/0",
        "checksums/000001",
        "rig",
        "filmed",
        "summary",
        "timings",
    ],
)
def test_damage_is_noticed_named_and_mended(how: str, what: str, out: Path) -> None:
    path = next(path for path in sorted(out.rglob("*")) if path.is_file() and what in str(path))
    spoil(path, how, random.Random(how))
    assert main(["check-result", str(out), "-q"]) == 3
    check_served(out, WISH)
    if "depth" in what:
        with pytest.raises(DamagedError, match=r"depth\w* of moment 1 .*start the run again"):
            Result(out).array(what.split("/")[1], 1)
        assert Result(out).depth(0).shape == (6, 8)  # the rest is still there
    if what in ("summary", "timings"):
        with pytest.raises(DamagedError, match=rf"{what}\.json' is (damaged|missing); start the run again"):
            getattr(Result(out), what)
    said = run_again(out)
    if "/" in what and not (how == "remove" and "checksums" in what):
        assert any("damaged" in each for each in said)
    assert main(["check-result", str(out), "-q"]) == 0


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "remove"])
def test_damaged_work_is_computed_again(how: str, out: Path) -> None:
    for path in sorted((out / "work").rglob("*")):
        if path.is_file():
            spoil(path, how, random.Random(path.name))
    run_again(out, Wish(iterations=2))


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "remove"])
def test_check_result_lists_damaged_work_too(how: str, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-result", str(out)]) == 0
    assert "work" not in capsys.readouterr().out
    spoil(next((out / "work/match_stereo").glob("000001.*.bin")), how, random.Random(1))
    assert main(["check-result", str(out)]) == 0  # the result itself is whole
    said = capsys.readouterr().out
    assert said.count("work/match_stereo/000001.") == 1
    assert "the result does not need it, and a run that does computes it again" in said
    run_again(out, Wish(seed=1))
    assert main(["check-result", str(out)]) == 0
    assert "work" not in capsys.readouterr().out


def test_files_are_checked_at_every_moment_of_their_writing(folder: Path) -> None:
    for at in range(40):
        with scratch() as own:
            place = Place(own)
            write_files(place, {"summary.json": b"{}", "timings.json": b"{}"})
            with injected("kill", at) as fault, suppress(Killed):
                write_files(place, {"summary.json": b'{"a": 1}', "rig.json": b"rig"})
            assert find_file(place, "summary.json") in (b"{}", b'{"a": 1}')
            assert find_file(place, "timings.json") == b"{}"
            (own / "summary.json").write_bytes(b'{"a": 2}')
            with pytest.raises(DamagedError):
                find_file(place, "summary.json")
    assert fault.happened == ""  # the last one came to its end


def test_a_step_of_two_frames_replaces_the_story_of_a_run(folder: Path) -> None:
    with patch("wideflow.pipeline.outputs.take_over", side_effect=FileError("ended here")):
        run_quickly(WISH, folder / "out")
        (folder / "out/report.html").write_text("of the run")
        with pytest.raises(FileError, match="ended here"):
            write_step(folder / "out", quick_step())
    assert not (folder / "out/report.html").exists()
    write_step(folder / "out", quick_step())
    assert Result(folder / "out").summary == {}
    assert main(["check-result", str(folder / "out"), "-q"]) == 0


def test_check_result_lists_what_is_wrong(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-result", str(out)]) == 0
    assert "3 moments" in capsys.readouterr().out
    next((out / "result.zarr/motion/c/1").rglob("0")).rename(out / "lost")
    chunk = next(path for path in (out / "result.zarr/picture_b/c/2").rglob("*") if path.is_file())
    chunk.write_bytes(chunk.read_bytes()[:-1])
    assert main(["check-result", str(out)]) == 3
    said = capsys.readouterr().out
    assert "moment 1, what was found: damaged: motion" in said
    assert "moment 2, its pictures: damaged: picture_b" in said
    assert main(["check-result", str(out / "nothing")]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["run", "a.mp4", "b.mp4", "-o", ""],
        ["run", "a.mp4", "b.mp4", "--out="],
        ["demo", "-o", ""],
        ["synth", ""],
        ["export", "out", "--to", "ply", "-o", ""],
    ],
)
def test_an_empty_name_is_neither_the_root_of_the_disk_nor_this_folder(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "is empty; give a name" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="empty"):
        Place("")


@pytest.mark.parametrize("content", ["null", "5", "[1]", '"x"', "{", "[" * 100_000])
@pytest.mark.parametrize("name", ["summary.json", "timings.json"])
def test_a_damaged_summary_is_one_sentence(
    name: str, content: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / name).write_text(content)
    assert main(["view", str(out), "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert f"{name}' is damaged" in said
    assert said.strip().count("\n") == 0


def test_results_of_the_first_format_are_read(out: Path, folder: Path) -> None:
    old = folder / "old"
    shutil.copytree(out, old)
    shutil.rmtree(old / "checksums")
    first = json.loads((old / "result.zarr/zarr.json").read_text())
    first["attributes"]["version"] = 1
    (old / "result.zarr/zarr.json").write_text(json.dumps(first))
    since = {name for name, described in ARRAYS.items() if described.since > 1}
    now = {name: content for name, content in served(out).items() if name.split()[0] not in since}
    assert served(old) == now
    assert main(["check-result", str(old), "-q"]) == 0
    run_again(old)  # and computed anew, since nothing tells what made them


def test_other_programs_read_it(out: Path) -> None:
    opened = xarray.open_zarr(out / "result.zarr", consolidated=False)
    assert opened.depth.values[1].tobytes() == Result(out).array("depth", 1).tobytes()
    path = next(path for path in (out / "result.zarr/depth/c/1").rglob("*") if path.is_file())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises((ValueError, RuntimeError)):  # Zarr's own checksum
        xarray.open_zarr(out / "result.zarr", consolidated=False).depth.values[1]


def test_more_arrays_are_kept_if_asked_for(out: Path) -> None:
    wish = Wish(keep=("colour_transform", "covariance"))
    run_again(out, wish)
    found = Result(out)
    assert found.kept == ("colour_transform", "covariance")
    assert found.array("covariance", 0).shape == (6, 8, 3, 3)
    transform = found.array("colour_transform", 1)
    assert transform.shape == (3, 13)
    assert (transform[:, 1:4] == np.eye(3)).all()
    assert not transform[:, [0, *range(4, 13)]].any()
    # once kept, an array is there at every moment, whatever changes
    run_quickly(Wish(iterations=2), out)
    assert served(out) == whole(Wish(iterations=2, keep=wish.keep))
    assert main(["check-result", str(out), "-q"]) == 0
    with pytest.raises(InputError, match="there is no array nonsense to keep; there are loop_flow"):
        run_quickly(Wish(keep=("nonsense",)), out)


def test_work_is_discarded_if_asked_for(folder: Path) -> None:
    run_quickly(Wish(discard_work=True), folder / "out")
    assert list((folder / "out" / "work").rglob("*.bin")) == []
    with patch("wideflow.pipeline.tasks.do.compute", side_effect=AssertionError("computed again")):
        run_quickly(WISH, folder / "out")
    assert served(folder / "out") == whole(WISH)
    assert list((folder / "out" / "work").rglob("*.bin")) == []


def test_a_note_counts_after_its_arrays_have_reached_the_disk(folder: Path) -> None:
    done: list[tuple[str, str]] = []

    class Watched(Disk):
        def sync(self, path: Path) -> None:
            done.append(("sync", str(path)))
            super().sync(path)

        def rename(self, path: Path, target: Path) -> None:
            done.append((str(path), str(target)))
            super().rename(path, target)

    with patch.object(place_module, "DISK", Watched()):
        run_quickly(WISH, folder / "out")
    names = {path: target for path, target in done if path != "sync"}
    order = [names[path] if what == "sync" else path for what, path in done]
    for t in range(3):
        note = order.index(str(folder / f"out/checksums/{t:06d}.moment.json"))
        for name in ("depth", "confidence", "stereo_flow"):
            chunk = str(folder / f"out/result.zarr/{name}/c/{t}")
            (first,) = {each for each in order if each.startswith(f"{chunk}/")}
            assert order.count(first) == 2  # waited for, then named
            assert order.index(first) < note
    kept = [path for path in order if "/work/" in path]
    assert kept
    assert len(kept) == len(set(kept))  # it has checksums, and can be computed again: nobody waits for it


def test_a_moment_that_is_removed_meanwhile_is_told(folder: Path) -> None:
    put = Store.put

    def late(self: Store, slot: str, t: int, *values: object) -> None:
        put(self, slot, t, *values)
        if (slot, t) == ("steady", WISH.moments - 1):  # a worker of an earlier run wakes up
            self.forget("moment", 0)

    with (
        patch.object(Store, "put", late),
        pytest.raises(FileError, match=r"moment 0 of .* is missing, though"),
    ):
        run_quickly(WISH, folder / "out")
    run_again(folder / "out")


def test_too_little_disk_is_told_at_the_start(folder: Path) -> None:
    with patch.object(Place, "free", lambda self: 1000), pytest.raises(FileError) as error:
        run_quickly(WISH, folder / "out")
    assert "more, but the disk has 0.1 MB left" in str(error.value)
    assert "depth 0" not in served(folder / "out")


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-3], lambda data: data[:10], lambda data: b"", lambda data: data + b"x"],
)
def test_kept_arrays_come_back_or_are_refused(damage: Callable[[bytes], bytes]) -> None:
    arrays = {
        "uv": np.float32([[1.001, -2.5]]),
        "seen": np.array([True, False]),
        "spread": np.array(np.inf),
        "none": np.zeros((0, 2)),
        "text": np.array("as it is"),
    }
    data = pack(arrays)
    back = unpack(data, "x")
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].tobytes() == array.tobytes()
        assert back[name].shape == array.shape
    with pytest.raises(FileError, match="'x' "):
        unpack(damage(data), "x")


def test_one_flipped_bit_is_enough() -> None:
    data = pack({"uv": np.arange(4, dtype=np.float32)})
    for position in range(len(data)):
        wrong = bytearray(data)
        wrong[position] ^= 16
        with pytest.raises(FileError):
            unpack(bytes(wrong), "x")
    note = seal({"a": [1, 2.5], "b": "c"})
    assert unseal(note) == {"a": [1, 2.5], "b": "c"}
    for content in (b"", b"null", b"5", b"[1]", note[:-9], note.replace(b"2.5", b"2.6"), b'{"note": {}}'):
        assert unseal(content) is None


def test_worker_processes_end_with_their_parent(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    import psutil

    code = (
        "import time; from wideflow.pipeline.tasks.schedule import _client\n"
        "if __name__ == '__main__':\n"
        "    with _client(None, 1):\n        print('ready', flush=True); time.sleep(60)\n"
    )
    (tmp_path / "parent.py").write_text(code)
    with subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"ready"
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert children
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []


def test_a_run_that_is_told_to_end_leaves_no_lock_and_no_process(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "from wideflow.cli import main\n"
        "from wideflow.pipeline import run\n"
        "def plan(*_):\n    print('ready', flush=True); time.sleep(60)\n"
        "run.make_plan = plan\n"
        "sys.exit(main(['run', 'a.mp4', 'b.mp4', '-o', 'out', '-q']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().strip() == b"ready"
        assert (tmp_path / "out/lock").exists()
        process.terminate()
        assert process.wait(60) == 143
        assert process.stderr.read() == b"wideflow: ended by a signal\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".lock", "log.txt"]


def test_workers_that_cannot_start_are_one_sentence(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    from wideflow.pipeline.tasks.schedule import _client

    def refuse(**_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory: /dev/shm")

    with (
        patch.object(distributed, "LocalCluster", refuse),
        pytest.raises(InputError, match=r"worker processes cannot be started here: .*without --workers"),
        _client(None, 2),
    ):
        pass
