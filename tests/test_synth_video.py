"""Rendered videos: frames, rate, sound, lens; and the writer of videos."""

import json
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from test_handheld import sample
from wideflow.errors import FileError, InputError
from wideflow.files import read_rig
from wideflow.geometry import ideal_camera, pixel_grid, undistortion_maps
from wideflow.handheld import read_handheld
from wideflow.synth import SynthConfig, render
from wideflow.synth.sound import RATE, tracks
from wideflow.video.write import write_video


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("video")
    render(out, SynthConfig(seed=2, angle=12, size=(192, 108), frames=12, fps=12, video=True, offset=0.27))
    return out


def decode(path: Path) -> tuple[np.ndarray, np.ndarray, float]:
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        rate = float(container.streams.video[0].average_rate)
    with av.open(str(path)) as container:
        sound = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
    return np.array(frames), sound, rate


def delay(early: np.ndarray, late: np.ndarray) -> float:
    """Seconds by which ``late`` repeats ``early``: the peak of their whitened correlation."""
    spectrum = np.fft.rfft(late, 2 * RATE) * np.conj(np.fft.rfft(early, 2 * RATE))
    peak = int(np.argmax(np.fft.irfft(spectrum / (np.abs(spectrum) + 1e-9))))
    return (peak if peak < RATE else peak - 2 * RATE) / RATE


def test_video_has_its_frames_rate_and_sound(video: Path) -> None:
    truth = json.loads((video / "truth.json").read_text())
    assert truth["offset_seconds"] == 0.27
    found = [decode(video / name) for name in ("a.mp4", "b.mp4")]
    for frames, sound, rate in found:
        assert frames.shape == (12, 108, 192, 3)
        assert rate == 12
        assert len(sound) == pytest.approx(RATE, abs=2048)
    (_, a, _), (_, b, _) = found
    assert delay(b, a) == pytest.approx(0.27, abs=0.003)  # a few ms: sound travels farther to one of them


def test_video_pictures_agree_with_truth_after_undistortion(video: Path) -> None:
    scene = read_handheld(video)
    rig = read_rig(video / "rig.json")
    assert all(not camera.is_pinhole for camera in rig.cameras)
    frames, _, _ = decode(video / "a.mp4")
    ideal = [
        cv2.remap(
            frame, *undistortion_maps(rig.cameras[0], ideal_camera(rig.cameras[0]))[:2], cv2.INTER_LINEAR
        )
        for frame in frames[6:8]
    ]
    truth, flow = scene.truth(0, 6), scene.flows(0, 6).optical
    warped = sample(ideal[1], pixel_grid(192, 108) + flow)[truth.optical_visible]
    first = ideal[0][truth.optical_visible].astype(float)
    right = np.corrcoef(first.ravel(), warped.ravel())[0, 1]
    raw = sample(frames[7], pixel_grid(192, 108) + flow)[truth.optical_visible]
    assert right > 0.93
    assert right > np.corrcoef(first.ravel(), raw.ravel())[0, 1] + 0.01


def test_sound_comes_later_to_who_stands_farther() -> None:
    config = SynthConfig(frames=30, video=True)
    near, far = tracks(config, np.array([[0.0, -4.7, 1.5], [0.0, -38.9, 1.5]]))
    assert delay(near, far) == pytest.approx(34.2 / 343, abs=0.004)


def test_video_writer_keeps_colours_and_refuses_nonsense(tmp_path: Path) -> None:
    picture = np.zeros((64, 96, 3), np.uint8)
    for i, colour in enumerate(((200, 30, 40), (30, 180, 60), (40, 50, 210), (220, 210, 90))):
        picture[:, 24 * i : 24 * i + 24] = colour
    write_video(tmp_path / "a.mp4", [picture] * 5, 29.97)
    with av.open(str(tmp_path / "a.mp4")) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        assert float(container.streams.video[0].average_rate) == pytest.approx(29.97, abs=1e-3)
    assert len(frames) == 5
    inside = np.s_[8:-8, 8:-8]
    centres = [frames[4][inside][:, x].astype(int) - picture[inside][:, x] for x in (4, 28, 52, 72)]
    assert np.abs(centres).max() <= 6
    with pytest.raises(InputError, match="no picture"):
        write_video(tmp_path / "b.mp4", [], 30)
    with pytest.raises(InputError, match="even"):
        write_video(tmp_path / "b.mp4", [picture[:63]], 30)
    with pytest.raises(InputError, match="one size"):
        write_video(tmp_path / "b.mp4", [picture, picture[:32]], 30)
    with pytest.raises(FileError, match="directory"):
        write_video(tmp_path / "nowhere" / "b.mp4", [picture], 30)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]
