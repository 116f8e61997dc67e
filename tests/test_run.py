"""The whole job on a filmed room with known cameras: right, resumable, and the same bits whoever does it."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import room
import wideflow
from faults.places import object_storage
from wideflow.cli import main
from wideflow.config import Config, load_config
from wideflow.files import write_rig
from wideflow.pipeline.before.prepare import make_plan
from wideflow.pipeline.job import Job
from wideflow.pipeline.step.stage import Stage, compute
from wideflow.pipeline.tasks import do
from wideflow.pipeline.tasks.plan import Task
from wideflow.storage.lock import locked
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS
from wideflow.types import Rig, View

SIZE = 160  # of 320: what is matched


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rig]:
    folder = tmp_path_factory.mktemp("clip")
    rig = room.film(folder, 8)
    write_rig(folder / "rig.json", rig)
    return folder, rig


def arguments(folder: Path, out: Path | str, *more: str) -> list[str]:
    known = ["--rig", str(folder / "rig.json"), "--offset", "0", "--size", str(SIZE), "--frames", "2:5"]
    return ["run", str(folder / "a.mp4"), str(folder / "b.mp4"), "-o", str(out), *known, "--no-report", *more]


@pytest.fixture(scope="module")
def whole(clip: tuple[Path, Rig], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    assert main([*arguments(clip[0], out), "-q"]) == 0
    return out


def assert_same(one: Path, two: Path) -> None:
    first, second = Result(one), Result(two)
    assert len(first) == len(second)
    for name in ARRAYS:
        for t in range(len(first) - (name in ("motion", "optical_flow_a", "optical_flow_b"))):
            a, b = first.array(name, t), second.array(name, t)
            assert a.tobytes() == b.tobytes(), (name, t)
    assert (one / "rig.json").read_bytes() == (two / "rig.json").read_bytes()


def test_depth_of_the_room_is_right(clip: tuple[Path, Rig], whole: Path) -> None:
    found = Result(whole)
    assert (len(found), found.size_a, [frame.index for frame in found.rig.frames]) == (
        3,
        (160, 120),
        [2, 3, 4],
    )
    sure = found.confidence(0) > 0.5
    assert sure.mean() > 0.3
    on_a_wall = room.off_the_walls(found.points(0)[sure])
    assert np.median(on_a_wall) < 0.05  # the room is 17 m long
    still = np.linalg.norm(found.motion(0), axis=2)[sure]
    assert np.median(still) < 0.05
    opened = xarray.open_zarr(whole / "result.zarr", consolidated=False)
    assert opened.picture_b.dims == ("time", "y_b", "x_b", "rgb")
    timings = json.loads((whole / "timings.json").read_text())
    assert [frame["index"] for frame in timings["frames"]] == [0, 1, 2]
    assert timings["seconds"]["match stereo"] > 0
    assert timings["seconds"]["calibration"] > timings["seconds"]["sync"] >= 0
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["sync"]["method"] == "given"
    assert summary["calibration"]["source"] == "given"
    assert "done: 3 moments" in (whole / "log.txt").read_text()


def test_killed_at_random_moments_it_ends_with_the_same_bits(
    clip: tuple[Path, Rig], whole: Path, tmp_path: Path
) -> None:
    out, chance = tmp_path / "out", random.Random(1)
    command = [sys.executable, "-m", "wideflow", *arguments(clip[0], out), "-q"]
    progress = [0]
    for _ in range(4):
        process = subprocess.Popen(command, start_new_session=True)
        deadline = time.monotonic() + 120
        # kill when something has been done since it began, and a little later
        while process.poll() is None and finished(out) == progress[-1]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.5))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL  # not ended by itself
        progress.append(finished(out))
    assert progress == sorted(set(progress))  # each began where the one before was killed
    assert main([*arguments(clip[0], out), "-q"]) == 0
    assert_same(out, whole)


def finished(out: Path) -> int:
    """Tasks that are done."""
    return len([*(out / "work").glob("*/*.json"), *(out / "checksums").glob("0*.json")])


def count_tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the stages that do real work from now on."""
    done: list[str] = []

    def counted(stage: Stage, *values: Any) -> Any:
        done.append(stage.clock.split()[0])
        return compute(stage, *values)

    monkeypatch.setattr(do, "compute", counted)
    return done


def test_other_settings_compute_only_what_depends_on_them(
    clip: tuple[Path, Rig], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, rig = clip
    out = tmp_path / "out"
    base = load_config(None, (), "default")

    def run(config: wideflow.Config, stop: int = 5) -> list[str]:
        with monkeypatch.context() as patch:
            done = count_tasks(patch)
            wideflow.run(
                folder / "a.mp4",
                folder / "b.mp4",
                out,
                config,
                frames=slice(2, stop, 1),
                size=SIZE,
                rig=rig,
                offset=0,
                report=False,
            )
        return sorted(set(done)), len(done)  # type: ignore[return-value]

    everything = ["evidence", "fill", "lift", "match", "meet", "read", "refine", "steady"]
    refutes = 3 + 2 + 1  # evidence is held against the match wherever it is used: filling, steps, the last
    meets = 3 + 1  # cameras are brought to one time where they meet: filling, the last; matching as well
    assert run(base) == (everything, 3 + 7 + 3 + 7 + 2 * 2 + 1 + 3 + refutes + meets + 3)
    assert run(base) == ([], 0)
    assert_same(out, whole)
    refined = replace(base, refine=replace(base.refine, iterations=2))
    assert run(refined) == (["evidence", "lift", "refine", "steady"], 2 * 2 + 3 + 2)
    filled = replace(refined, fill=replace(base.fill, reweighted=0))
    parts = 7 + 2 * 2 + 1 + 3 + refutes + meets
    assert run(filled) == (["evidence", "fill", "lift", "meet", "refine", "steady"], parts)
    # one moment fewer: only the last is another
    assert run(filled, 4) == (["evidence", "lift", "meet", "steady"], 1 + 2 + 1 + 1)
    assert run(filled, 5) == (["evidence", "lift", "meet", "read", "refine", "steady"], 2 + 1 + 1 + 3 + 2 + 1)
    calibrated = list((out / "work/calibration").iterdir())
    changed = replace(filled, match=replace(base.match, seed=7))
    assert run(changed)[0] == ["evidence", "fill", "lift", "match", "meet", "refine", "steady"]
    assert list((out / "work/calibration").iterdir()) == calibrated  # chance of its own
    apart = replace(changed, sync=replace(base.sync, one_time=False))
    assert "match" not in run(apart)[0]  # these cameras see one moment
    assert list((out / "work/calibration").iterdir()) == calibrated


def test_uncertain_cameras_lower_confidence_and_compute_only_depth_anew(
    clip: tuple[Path, Rig], whole: Path, tmp_path: Path
) -> None:
    folder, rig = clip
    out = shutil.copytree(whole, tmp_path / "out")
    job = Job(
        folder / "a.mp4", folder / "b.mp4", str(out), Config(), slice(2, 5, 1), SIZE, rig=rig, offset=0.0
    )
    plan, _ = make_plan(job, lambda done, total, text: None)
    doubtful = replace(plan, alternatives=(_turned(plan.filmed, 1.0),))
    for task in plan.tasks():
        assert (plan.key(task) == doubtful.key(task)) == (task.name not in ("step", "last", "steady")), task
    for task in (Task("step", 0), Task("last", 2)):
        before = {name: Result(out).array(name, task.t) for name in ("depth", "confidence")}
        assert do.do_task(plan, task)["tilt"] == 0
        assert do.do_task(doubtful, task)["tilt"] > 0.01
        assert Result(out).array("depth", task.t).tobytes() == before["depth"].tobytes()
        after = Result(out).confidence(task.t)
        assert (after <= before["confidence"] + 1e-3).all()
        assert after.mean() < 0.8 * before["confidence"].mean()


def _turned(rig: Rig, degrees: float) -> Rig:
    """The rig with B turned to the side."""
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    b = rig.cameras[1]
    views = ((frame.views[0], View(b, turn @ frame.views[1].cam_from_world)) for frame in rig.frames)
    frames = zip(rig.frames, views, strict=True)
    return Rig(rig.cameras, tuple(replace(frame, views=pair) for frame, pair in frames))


def test_worker_processes_give_the_same_bits_even_if_one_is_killed(
    clip: tuple[Path, Rig], whole: Path, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    folder, rig = clip
    killed: list[int] = []

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address

        def progress(done: int, total: int, text: str) -> None:
            if done == 3 and not killed and "moment" in text:
                with distributed.Client(address) as client:
                    killed.extend(client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        wideflow.run(
            folder / "a.mp4",
            folder / "b.mp4",
            tmp_path / "out",
            frames=slice(2, 5, 1),
            size=SIZE,
            rig=rig,
            offset=0,
            cluster=address,
            report=False,
            progress=progress,
        )
    assert killed
    assert_same(tmp_path / "out", whole)


def test_two_runs_on_one_folder(
    clip: tuple[Path, Rig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(Place(tmp_path)):
        assert main(arguments(clip[0], tmp_path)) == 2
    assert f"another run (process {os.getpid()} on" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    clip: tuple[Path, Rig],
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"

    def full_at_last(self: object, path: Path) -> None:
        if "motion" in path.parent.parent.parts:  # a chunk, not the description of the array
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("wideflow.storage.disk.Disk.sync", full_at_last)
        assert main(arguments(clip[0], out)) == 2
    assert "disk is full" in capsys.readouterr().err
    done = count_tasks(monkeypatch)
    assert main([*arguments(clip[0], out), "-q"]) == 0
    assert done.count("match") <= 3  # the others were kept: stereo of 0 and 1, motion of both cameras
    assert_same(out, whole)


def test_a_store_behind_a_url(clip: tuple[Path, Rig], whole: Path) -> None:
    """A real S3 server on this machine."""
    pytest.importorskip("s3fs", reason="needs the extra cloud")
    pytest.importorskip("moto.server", reason="needs moto's server")
    with object_storage() as bucket:
        url = f"{bucket}/one"
        assert main([*arguments(clip[0], url), "-q"]) == 0
        found, expected = Result(url), Result(whole)
        for t in range(3):
            assert found.depth(t).tobytes() == expected.depth(t).tobytes()
        assert found.motion(1).tobytes() == expected.motion(1).tobytes()
        assert found.place.names("lock") == []
        assert b"done: 3 moments" in found.place.read("log.txt")
