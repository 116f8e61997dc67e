"""Exports that cannot be, or not whole: one sentence, and nothing half-written or lost."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from result_scenes import perfect_result, put_moment
from test_export import FRAMES, files_in, known
from wideflow import ExportOptions, export_result
from wideflow.cli import main
from wideflow.errors import FileError, InputError, MissingExtraError
from wideflow.export import FORMATS
from wideflow.files import read_flow, read_ply, write_rig
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.store import Store
from wideflow.types import Camera, Rig, RigFrame, View

EXTRAS = {"exr": "OpenEXR", "usd": "pxr.Usd", "usd_mesh": "pxr.Usd", "rerun": "rerun"}
NAMES = ("ply", "flo", "kitti", "exr", "colmap", "nerfstudio", "usd", "usd_mesh", "gltf", "rerun")
SUFFIXES = {"usd": ".usdc", "usd_mesh": ".usdc", "rerun": ".rrd"}  # of the formats that are one file


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return perfect_result(tmp_path_factory.mktemp("targets"), FRAMES)


def small_result(folder: Path, moments: int, depth: float, skew: float = 0.0) -> Result:
    """Standing cameras before a plane; everything else is as a new store has it."""
    camera = Camera("a", 16, 12, np.array([[20, skew, 7.5], [0, 20, 5.5], [0, 0, 1]]))
    beside = np.eye(3, 4)
    beside[0, 3] = -0.5
    views = View(camera, np.eye(3, 4)), View(camera, beside)
    store = Store.create(Place(folder), moments, (camera, camera))
    for t in range(moments):
        grey = np.full((12, 16, 3), 100, np.uint8)
        put_moment(store, t, depth=np.full((12, 16), depth, np.float32), picture_a=grey)
    write_rig(folder / "rig.json", Rig((camera, camera), (RigFrame(0, (0.0, 0.0), views),)))
    return Result(folder)


def target(folder: Path, name: str) -> Path:
    return folder / (f"scene{SUFFIXES[name]}" if name in SUFFIXES else name)


def skip_without(name: str) -> None:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"needs pip install 'wideflow[{name}]'")


FULL_DISK = """
import resource, sys
from wideflow.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
for target in sys.argv[2:]:
    name, path = target.split("=")
    print(main(["export", sys.argv[1], "--to", name, "-o", path, "--quiet"]))
"""


def test_a_full_disk_is_one_sentence_and_leaves_old_files(result: Result, tmp_path: Path) -> None:
    for name in NAMES:
        skip_without(name)
        export_result(result, name, _made(target(tmp_path / "new", name)))
        for file in files_in(tmp_path / "new"):
            _made(tmp_path / "full" / file).write_text("old")
    words = [f"{name}={target(tmp_path / 'full', name)}" for name in NAMES]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(result.place), *words],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["2"] * len(NAMES)
    sentences = done.stderr.splitlines()
    assert len(sentences) == len(NAMES), done.stderr
    assert all(line.startswith("wideflow: cannot write '") for line in sentences)
    assert files_in(tmp_path / "full") == files_in(tmp_path / "new")  # no temporary files either
    for file in files_in(tmp_path / "full"):
        content = (tmp_path / "full" / file).read_bytes()
        assert content == b"old" or content == (tmp_path / "new" / file).read_bytes()


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_what_is_there_is_replaced_and_the_rest_kept(name: str, tmp_path: Path) -> None:
    skip_without(name)
    result = small_result(tmp_path / "result", 2, 3.0)
    out = target(tmp_path / "out", name)
    (tmp_path / "out").mkdir()
    export_result(result, name, out)
    first = files_in(tmp_path / "out")
    for file in first:
        (tmp_path / "out" / file).write_text("old")
    (_made(out / "mine.txt") if name not in SUFFIXES else tmp_path / "out" / "mine.txt").write_text("mine")
    export_result(result, name, out)
    after = files_in(tmp_path / "out")
    (mine,) = after - first
    assert (tmp_path / "out" / mine).read_text() == "mine"
    assert first <= after
    assert all((tmp_path / "out" / file).read_bytes() != b"old" for file in first)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_for_a_folder_and_the_other_way_round(name: str, result: Result, tmp_path: Path) -> None:
    skip_without(name)
    out = target(tmp_path, name)
    if name in SUFFIXES:
        out.mkdir()
        with pytest.raises(FileError, match=r"is a folder; give the name of a \."):
            export_result(result, name, out)
        with pytest.raises(FileError, match=r"must end in \."):
            export_result(result, name, tmp_path / "scene.xyz")
    else:
        out.write_text("mine")
        with pytest.raises(FileError, match="it is a file; give the name of a folder"):
            export_result(result, name, out)
        assert out.read_text() == "mine"
    with pytest.raises(FileError, match="give a path"):
        export_result(result, name, f"s3://bucket/{out.name}")


@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_extra_is_named(
    name: str, result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, extra = EXTRAS[name].partition(".")[0], name.removesuffix("_mesh")
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, EXTRAS[name], None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*pip install 'wideflow\[{extra}\]'"):
        export_result(result, name, target(tmp_path, name))
    assert not files_in(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_without_depth(name: str, tmp_path: Path) -> None:
    skip_without(name)
    result = small_result(tmp_path / "result", 2, np.nan)
    out = _made(target(tmp_path / "out", name))
    if name in ("ply", "usd", "usd_mesh", "gltf", "rerun"):  # points are all that they hold
        with pytest.raises(InputError, match="has no depth in the chosen frames"):
            export_result(result, name, out)
        assert not files_in(tmp_path / "out")
    else:  # cameras, pictures and flow are there
        export_result(result, name, out)
        assert files_in(tmp_path / "out")


@pytest.mark.parametrize("name", NAMES)
def test_one_moment_alone_has_no_step(name: str, tmp_path: Path) -> None:
    skip_without(name)
    result = small_result(tmp_path / "result", 1, 3.0)
    export_result(result, name, _made(target(tmp_path / "out", name)))
    files = files_in(tmp_path / "out")
    assert files
    assert not [file for file in files if "optical" in file]
    if name == "ply":
        cloud = read_ply(tmp_path / "out/ply/points.0000.ply")
        assert len(cloud.xyz) == 16 * 12
        assert cloud.velocity is None
    if name == "flo":
        assert np.isnan(read_flow(tmp_path / "out/flo/stereo/000000.flo")).all()


def test_cameras_that_stand_have_a_step_of_one_second(tmp_path: Path) -> None:
    result = small_result(tmp_path / "result", 2, 3.0)
    motion = np.full((12, 16, 3), 0.25, np.float32)
    motion[0, 0] = np.nan
    depth = np.full((12, 16), 3, np.float32)
    put_moment(Store.open(Place(tmp_path / "result")), 0, depth=depth, motion=motion)
    export_result(result, "ply", tmp_path / "out")
    velocity = read_ply(tmp_path / "out" / "points.0000.ply").velocity
    assert np.isnan(velocity[0]).all()
    assert (velocity[1:] == 0.25).all()


@pytest.mark.parametrize("name", ["colmap", "nerfstudio", "usd"])
def test_skew_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    skip_without(name)
    result = small_result(tmp_path / "result", 1, 3.0, skew=0.5)
    with pytest.raises(InputError, match="skew"):
        export_result(result, name, _made(target(tmp_path / "out", name)))
    assert not files_in(tmp_path / "out")


def test_a_rig_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    result = small_result(tmp_path / "result", 3, 3.0)
    views = result.rig.frames[0].views
    for times, sentence in (([1, 1, 2], "do not increase"), ([1, 2], "has 2 frames for 3 moments")):
        frames = tuple(RigFrame(i, (float(time), float(i)), views) for i, time in enumerate(times))
        result.rig = Rig(result.rig.cameras, frames)
        with pytest.raises((InputError, FileError), match=sentence):
            export_result(result, "ply", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_frames_stride_and_confidence(result: Result, tmp_path: Path) -> None:
    export_result(result, "ply", tmp_path / "a", ExportOptions(stride=2, confidence=0.5))
    assert files_in(tmp_path / "a") == {"points.0000.ply", "points.0002.ply"}
    cloud = read_ply(tmp_path / "a" / "points.0000.ply")
    np.testing.assert_array_equal(cloud.xyz, result.points(0)[known(result, 0, 0.5)])
    export_result(result, "ply", tmp_path / "b", ExportOptions(1, 99))
    assert files_in(tmp_path / "b") == {"points.0001.ply", "points.0002.ply"}
    with pytest.raises(InputError, match="no depth with a confidence of 1 or more"):
        export_result(result, "ply", tmp_path / "c", ExportOptions(confidence=1))
    with pytest.raises(InputError, match="hold none of the 3 moments"):
        export_result(result, "flo", tmp_path / "c", ExportOptions(3))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--to obj", "there is no format 'obj' to export to; choose one of ply, flo"),
        ("--to ply --frames 3", "--frames 3 is not of the form START:STOP"),
        ("--to ply --frames 2:1", "--frames 2:1 holds no frame"),
        ("--to ply --frames 7:", "the frames 7: hold none of the 3 moments"),
        ("--to ply --stride 0", "the stride must be at least 1, not 0"),
        ("--to ply --confidence 2", "the confidence must be between 0 and 1, not 2.0"),
        ("--to ply --confidence nan", "the confidence must be between 0 and 1, not nan"),
    ],
)
def test_wrong_options_are_one_sentence(
    words: str, sentence: str, result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["export", str(result.place), *words.split(), "-o", str(out), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"wideflow: {sentence}")
    assert error.count("\n") == 1
    assert not out.exists()


def test_the_command_says_what_it_wrote(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["export", str(result.place), "--to", "flo", "-o", str(tmp_path / "flow"), "--frames", ":2"]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'flow'}: 2 of 3 moments as flo\n"
    assert captured.err.endswith("100 %  done\n")
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["export", str(tmp_path), "--to", "flo", "-o", str(tmp_path / "x")]) == 2
    assert "holds no result.zarr" in capsys.readouterr().err


def test_the_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--help"]) == 0
    text = capsys.readouterr().out
    for name in FORMATS:
        assert name in text
