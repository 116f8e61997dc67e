"""Depth and motion of the pictures of B: the same stages with the cameras in each other's place."""

from pathlib import Path

import numpy as np
import pytest

import room
from test_run import arguments, count_tasks
from wideflow.cli import main
from wideflow.errors import InputError
from wideflow.files import write_rig
from wideflow.pipeline.step.mirror import mirrored
from wideflow.storage.check import check_result
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS, OF_B, spec
from wideflow.types import Rig


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rig]:
    folder = tmp_path_factory.mktemp("clip")
    rig = room.film(folder, 8)
    write_rig(folder / "rig.json", rig)
    assert main([*arguments(folder, folder / "out"), "-q"]) == 0
    return folder, rig


def test_b_is_added_to_a_result_of_a(filmed: tuple[Path, Rig], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = filmed
    out = folder / "out"
    before = {name: Result(out).array(name, 0).tobytes() for name in ARRAYS}
    with pytest.raises(InputError, match="--view both"):
        Result(out, view="b")
    done = count_tasks(monkeypatch)
    assert main([*arguments(folder, out, "--view", "both"), "-q"]) == 0
    refutes = ["evidence"] * 6  # held against the match wherever it is used
    one_time = ["meet"] * 4  # at which both views are filled, and the last moment is lifted
    stages = ["evidence", "fill", "lift", "steady"] * 3 + ["refine"] * 2
    assert sorted(done) == sorted(stages + refutes + one_time)
    assert {name: Result(out).array(name, 0).tobytes() for name in ARRAYS} == before
    assert check_result(out).problems == ()
    done.clear()
    assert main([*arguments(folder, out), "-q"]) == 0  # both views stay
    assert done == []

    a, b = Result(out), Result(out, view="b")
    assert set(OF_B) <= set(a.kept)
    assert (b.size_a, b.size_b) == (a.size_b, a.size_a)
    assert b.depth(0).tobytes() == a.array("depth_steady_b", 0).tobytes()
    assert b.picture_a(1).tobytes() == a.picture_b(1).tobytes()
    assert b.optical_flow_a(1).tobytes() == a.optical_flow_b(1).tobytes()
    for t in range(3):
        sure = b.confidence(t) > 0.5
        assert sure.mean() > 0.3
        assert np.median(room.off_the_walls(b.points(t)[sure])) < 0.05
    assert np.median(np.linalg.norm(b.motion(0), axis=2)[b.confidence(0) > 0.5]) < 0.05

    # a point that both are sure of is the same point
    sure = a.confidence(0) > 0.8
    y, x = np.nonzero(sure)
    there = np.rint(np.stack([x, y], 1) + a.stereo_flow(0)[sure]).astype(int)
    height, width = b.depth(0).shape
    inside = ((there >= 0) & (there < (width, height))).all(axis=1)
    there, seen = there[inside], a.points(0)[sure][inside]
    also = b.confidence(0)[there[:, 1], there[:, 0]] > 0.8
    apart = np.linalg.norm(b.points(0)[there[:, 1], there[:, 0]] - seen, axis=1)[also]
    assert also.sum() > 500
    assert np.median(apart) < 0.1


def test_what_belongs_to_both_is_turned_round(filmed: tuple[Path, Rig]) -> None:
    frame = filmed[1].frames[0]
    assert mirrored(frame).views == (frame.views[1], frame.views[0])
    assert mirrored(mirrored(frame)).times == frame.times
    for name in OF_B:
        dimensions = spec(name).dimensions
        assert not {"y", "x"} & set(dimensions)
    assert spec("stereo_flow_b").meaning == "from B to A at the same moment"


def test_there_is_no_third_view(filmed: tuple[Path, Rig], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = filmed
    assert main([*arguments(folder, folder / "other", "--view", "c"), "-q"]) == 2
    assert "--view is a or both, not 'c'" in capsys.readouterr().err
    with pytest.raises(InputError, match="'a' and 'b', not 'both'"):
        Result(folder / "out", view="both")
