"""What people may give `wideflow run` by mistake: exit code 2, and a sentence with file and remedy."""

import json
from pathlib import Path

import numpy as np
import pytest

import room
from wideflow.cli import main
from wideflow.files import write_image, write_rig
from wideflow.types import Camera, Rig, RigFrame, View
from wideflow.video.write import write_video


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good clips, and everything that is wrong."""
    folder = tmp_path_factory.mktemp("inputs")
    rig = room.film(folder, 4)
    write_rig(folder / "rig.json", rig)
    good = (folder / "a.mp4").read_bytes()
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("this is not a video")
    (folder / "short.mp4").write_bytes(good[: len(good) // 3])
    (folder / "noise.mp4").write_bytes(np.random.default_rng(0).bytes(5000))
    (folder / "nothing").mkdir()
    (folder / "folder").mkdir()
    (folder / "folder" / "0.png").write_bytes(b"\x89PNG but no more")
    (folder / "file").write_text("")
    write_image(folder / "picture.png", np.zeros((8, 8, 3), np.uint8))
    write_video(folder / "one.mp4", [room.picture(rig.frames[0].views[0], 0.0)], 10)
    write_video(folder / "plain.mp4", [np.full((240, 320, 3), 90, np.uint8)] * 8, 10)
    write_video(folder / "grey.mp4", [np.full((240, 320, 3), 120, np.uint8)] * 8, 10)
    (folder / "copy.mp4").write_bytes(good)
    for name, number in (("left", 0), ("right", 10)):
        (folder / name).mkdir()
        for k in range(2):
            picture = room.picture(rig.frames[k].views[0], 0.0)
            write_image(folder / name / f"{number + k}.png", picture)
    (folder / "right" / "notes.txt").write_text("not a picture")
    (folder / "rig_text.json").write_text("{")
    (folder / "rig_empty.json").write_text("{}")
    write_rig(folder / "rig_late.json", Rig(rig.cameras, tuple(_moved(rig))))
    small = [Camera(c.name, 100, 100, np.array([[90, 0, 50], [0, 90, 50], [0, 0, 1.0]])) for c in rig.cameras]
    frames = []
    for frame in rig.frames:
        a, b = (View(camera, view.cam_from_world) for camera, view in zip(small, frame.views, strict=True))
        frames.append(RigFrame(frame.index, frame.times, (a, b)))
    write_rig(folder / "rig_small.json", Rig((small[0], small[1]), tuple(frames)))
    (folder / "lens.json").write_text(json.dumps({"name": "a", "width": 320}))
    (folder / "bad.toml").write_text("[match]\nparticels = 3\n")
    return folder


def _moved(rig: Rig) -> list[RigFrame]:
    return [RigFrame(frame.index + 500, frame.times, frame.views) for frame in rig.frames]


KNOWN = "--rig {}/rig.json --offset 0 --size 96"
CASES = {
    "no such file": ("{}/none.mp4 {}/b.mp4", "none.mp4' does not exist; check the path"),
    "second missing": ("{}/a.mp4 {}/none.mp4", "none.mp4' does not exist; check the path"),
    "empty file": ("{}/empty.mp4 {}/b.mp4", "empty.mp4' is empty"),
    "text": ("{}/text.mp4 {}/b.mp4", "text.mp4'"),
    "noise": ("{}/a.mp4 {}/noise.mp4", "noise.mp4'"),
    "cut short": ("{}/short.mp4 {}/b.mp4", "short.mp4'"),
    "a picture": ("{}/picture.png {}/b.mp4 --offset 0", "picture.png"),
    "empty folder": ("{}/nothing {}/b.mp4 --fps 10", "nothing' "),
    "folder without fps": ("{}/folder {}/b.mp4", "give their number per second"),
    "folder of damaged pictures": ("{}/folder {}/b.mp4 --fps 10", "0.png'"),
    "fps of nothing": ("{}/folder {}/b.mp4 --fps 0", "give a number above 0"),
    "one frame": ("{}/one.mp4 {}/b.mp4", "one.mp4'"),
    "plain clips": ("{}/plain.mp4 {}/grey.mp4", "--offset"),
    "plain clips with an offset": ("{}/plain.mp4 {}/grey.mp4 --offset 0", "texture"),
    "same file twice": ("{}/a.mp4 {}/a.mp4", "are the same pictures, and depth needs those of two cameras"),
    "same file under two names": ("{}/a.mp4 {}/copy.mp4 " + KNOWN, "are the same pictures"),
    "same pictures in two folders": ("{}/left {}/right --fps 10 --offset 0", "are the same pictures"),
    "no common time": ("{}/a.mp4 {}/b.mp4 --offset 100", "share no moment"),
    "no time at all": ("{}/a.mp4 {}/b.mp4 --offset nan", "is no time; give a number"),
    "frames that are no range": ("{}/a.mp4 {}/b.mp4 --frames 3", "not of the form START:STOP"),
    "frames that are none": ("{}/a.mp4 {}/b.mp4 --frames 5:2", "give a STOP above START"),
    "frames beyond the end": ("{}/a.mp4 {}/b.mp4 --frames 100:200 " + KNOWN, "choose --frames there"),
    "one frame chosen": ("{}/a.mp4 {}/b.mp4 --frames 1:2 " + KNOWN, "motion needs two or more"),
    "stride of nothing": ("{}/a.mp4 {}/b.mp4 --stride 0", "stride"),
    "size of nothing": ("{}/a.mp4 {}/b.mp4 --size 3", "size"),
    "rig that is no JSON": ("{}/a.mp4 {}/b.mp4 --rig {}/rig_text.json", "rig_text.json' is not valid JSON"),
    "rig without fields": ("{}/a.mp4 {}/b.mp4 --rig {}/rig_empty.json", "rig_empty.json'"),
    "rig missing": ("{}/a.mp4 {}/b.mp4 --rig {}/none.json", "none.json' does not exist"),
    "rig of other frames": ("{}/a.mp4 {}/b.mp4 --offset 0 --rig {}/rig_late.json", "frames 500 to 503"),
    "rig of other pictures": ("{}/a.mp4 {}/b.mp4 --offset 0 --rig {}/rig_small.json", "100 x 100"),
    "rig and intrinsics": ("{}/a.mp4 {}/b.mp4 --rig {}/rig.json --intrinsics-a {}/lens.json", "leave out"),
    "intrinsics with a field missing": ("{}/a.mp4 {}/b.mp4 --intrinsics-a {}/lens.json", "lens.json'"),
    "scale of nothing": ("{}/a.mp4 {}/b.mp4 --scale 0", "is no length; give a number above 0"),
    "unknown preset": ("{}/a.mp4 {}/b.mp4 --preset best", "there is no preset 'best'"),
    "unknown setting": ("{}/a.mp4 {}/b.mp4 --set match.particels=3", "particles"),
    "setting in a file": ("{}/a.mp4 {}/b.mp4 --config {}/bad.toml", "particles"),
    "workers and cluster": ("{}/a.mp4 {}/b.mp4 --workers 2 --cluster tcp://127.0.0.1:1", "give one of them"),
    "output is a file": ("{}/a.mp4 {}/b.mp4 -o {}/file", "it is a file; give the name of a folder"),
    "output below a file": ("{}/a.mp4 {}/b.mp4 -o {}/file/below", "file/below"),
    "unknown kind of URL": ("{}/a.mp4 {}/b.mp4 -o nowhere://bucket", "nowhere://bucket"),
    "one video": ("{}/a.mp4", "missing argument"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_sentence_names_the_file_and_the_remedy(
    name: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, said = CASES[name]
    words = line.replace("{}", str(place)).split()
    out = [] if "-o" in words else ["-o", str(tmp_path / "out")]
    assert main(["run", *words, *out, "-q"]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert captured.err.strip().count("\n") == 0
    assert captured.out == ""


def test_nobody_answers_at_the_address(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("wideflow.pipeline.tasks.schedule._PATIENCE", 1)
    words = f"{place}/a.mp4 {place}/b.mp4 {KNOWN} --cluster tcp://127.0.0.1:1".replace(
        "{}", str(place)
    ).split()
    assert main(["run", *words, "-o", str(tmp_path / "out"), "-q"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
