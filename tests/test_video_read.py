"""Reading videos: true times, any frame, orientation, depth and HDR, damage."""

import struct
import warnings
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from wideflow.errors import FileError, InputError
from wideflow.files import write_image
from wideflow.video.read import Video
from wideflow.video.write import write_video

SIZE = (96, 64)
LOSSLESS = {"x265-params": "lossless=1:log-level=none"}


def numbered(index: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    """A picture whose brightness tells its number; its left half is darker, its upper left corner white."""
    picture = np.full((size[1], size[0], 3), 20 + 8 * index, np.uint8)
    picture[:, : size[0] // 2] //= 2
    picture[:16, :16] = 255
    return picture


def number_of(picture: np.ndarray) -> int:
    return round((float(picture[-20:, -20:].mean()) - 20) / 8)


def encode(
    path: Path,
    pictures: list[np.ndarray],
    times_ms: list[int],
    gop: int = 12,
    rotation: int = 0,
    **options: str,
) -> Path:
    """An H.264 file with given presentation times."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": "10"})
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = gop
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        if rotation:
            stream.set_display_rotation(rotation)
        for picture, time in zip(pictures, times_ms, strict=True):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """24 frames at uneven times, a key frame every 5."""
    times = [33 * i + (i % 3) * 4 for i in range(24)]
    return encode(tmp_path / "clip.mp4", [numbered(i) for i in range(24)], times, gop=5)


def test_times_are_those_of_the_file_also_when_uneven(clip: Path) -> None:
    video = Video(clip)
    assert len(video) == 24
    assert video.size == SIZE
    np.testing.assert_allclose(video.times, [(33 * i + (i % 3) * 4) / 1000 for i in range(24)], atol=1e-4)
    assert not video.has_sound
    assert list(video.sound()) == []


def test_any_frame_at_once_and_in_any_order(clip: Path) -> None:
    video = Video(clip)
    for index in (17, 3, 23, 0, 4, 5, 22, 10):
        assert number_of(video.frame(index)) == index
    with pytest.raises(InputError, match="frames 0 to 23, but not 24"):
        video.frame(24)


@pytest.mark.parametrize(("start", "stop", "stride"), [(0, None, 1), (3, 20, 4), (1, None, 11), (20, 5, 1)])
def test_ranges_and_strides(clip: Path, start: int, stop: int | None, stride: int) -> None:
    found = [(index, number_of(picture)) for index, picture in Video(clip).frames(start, stop, stride)]
    assert found == [(i, i) for i in range(24)[start:stop:stride]]
    greys = [(index, grey.shape) for index, grey in Video(clip).grey(48, start, stop, stride)]
    assert greys == [(i, (32, 48)) for i, _ in found]


def test_random_access_decodes_little(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = Video(clip)
    decoded = []
    monkeypatch.setattr(
        "wideflow.video.container.Decoder._stamp", lambda _, frame: decoded.append(frame.pts) or frame.pts
    )
    video.frame(22)
    assert len(decoded) <= 5


@pytest.mark.parametrize(("rotation", "corner"), [(90, (-1, 0)), (-90, (0, -1)), (180, (-1, -1))])
def test_rotation_is_applied(tmp_path: Path, rotation: int, corner: tuple[int, int]) -> None:
    path = encode(tmp_path / "turned.mp4", [numbered(i) for i in range(3)], [0, 33, 66], rotation=rotation)
    video = Video(path)
    assert video.size == (SIZE if rotation == 180 else SIZE[::-1])
    picture = video.frame(1)
    assert picture.shape[:2] == video.size[::-1]
    rows, columns = (slice(-10, None) if end else slice(0, 10) for end in corner)
    block = picture[rows, columns]
    assert block.mean() > 235
    assert next(video.grey(1000))[1].shape == picture.shape[:2]


def test_ten_bits_keep_their_depth(tmp_path: Path) -> None:
    path = tmp_path / "ten.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx265", rate=30, options=LOSSLESS)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p10le"
        frame = av.VideoFrame(64, 64, "yuv420p10le")
        for plane, value in zip(frame.planes, (501, 512, 512), strict=True):
            np.frombuffer(plane, np.uint16)[:] = value
        frame.pts = 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    picture = Video(path).frame(0, np.float32)
    np.testing.assert_allclose(picture, (501 - 64) / 876, atol=6e-4)  # a step of 8 bits is 4e-3


@pytest.mark.parametrize(("curve", "code"), [(16, 0.5807), (18, 0.75)])
def test_hdr_white_becomes_nearly_white(tmp_path: Path, curve: int, code: float) -> None:
    """Diffuse white, 203 cd/m2, lies at 58 % of PQ and 75 % of HLG (ITU-R BT.2408)."""
    path = tmp_path / "hdr.mp4"
    levels = (0.0, code / 2, code, 1.0)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx265", rate=30, options=LOSSLESS)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p10le"
        context = stream.codec_context
        context.color_primaries, context.color_trc, context.colorspace, context.color_range = 9, curve, 9, 1
        for number, level in enumerate(levels):
            frame = av.VideoFrame(64, 64, "yuv420p10le")
            for plane, value in zip(frame.planes, (round(64 + 876 * level), 512, 512), strict=True):
                np.frombuffer(plane, np.uint16)[:] = value
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    black, middle, white, peak = (picture.mean() for _, picture in Video(path).frames(dtype=np.float32))
    assert black < 0.01
    assert 0.05 < middle < white - 0.2
    assert 0.85 < white < 0.95
    assert white + 0.03 < peak <= 1


def test_folder_of_pictures(tmp_path: Path) -> None:
    for i in (10, 2, 1, 0):
        write_image(tmp_path / f"frame{i}.png", numbered(i))
    (tmp_path / "notes.txt").write_text("no picture")
    video = Video(tmp_path, fps=25)
    assert [number_of(picture) for _, picture in video.frames()] == [0, 1, 2, 10]
    np.testing.assert_allclose(video.times, np.arange(4) / 25)
    assert video.frame(3, np.float32).dtype == np.float32
    with pytest.raises(InputError, match="folder of pictures; give their number per second with --fps"):
        Video(tmp_path)
    write_image(tmp_path / "frame11.png", numbered(3)[:32])
    with pytest.raises(InputError, match="must have one size"):
        list(Video(tmp_path, fps=25).frames())


def test_sound_starts_with_the_pictures_and_keeps_its_pitch(tmp_path: Path) -> None:
    time = np.arange(48000) / 48000
    sound = (0.5 * np.sin(2 * np.pi * 440 * time) * (time > 0.5)).astype(np.float32)
    write_video(tmp_path / "a.mp4", [numbered(i) for i in range(30)], 30, sound)
    heard = np.concatenate(list(Video(tmp_path / "a.mp4").sound(8000)))
    assert abs(len(heard) - 8000) < 300
    onset = np.flatnonzero(np.abs(heard) > 0.2)[0] / 8000
    assert abs(onset - 0.5) < 0.003
    crossings = np.count_nonzero(np.diff(np.sign(heard[4400:7600])) != 0) / 0.4
    assert abs(crossings - 880) < 12


def test_sound_before_the_first_frame_is_not_heard(tmp_path: Path) -> None:
    """Pictures that start half a second into the sound: the click at 0.75 s comes 0.25 s after the first."""
    sound = np.zeros(48000, np.float32)
    sound[36000:36400] = 0.8
    with av.open(str(tmp_path / "late.mkv"), "w") as container:
        video = container.add_stream("libx264", rate=30)
        video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
        audio = container.add_stream("pcm_s16le", rate=48000, layout="mono")
        heard = av.AudioFrame.from_ndarray((sound[None] * 32767).astype(np.int16), "s16", "mono")
        heard.sample_rate, heard.pts, heard.time_base = 48000, 0, Fraction(1, 48000)
        container.mux(audio.encode(heard))
        for i in range(10):
            frame = av.VideoFrame.from_ndarray(numbered(i), format="rgb24")
            frame.pts, frame.time_base = 15 + i, Fraction(1, 30)
            container.mux(video.encode(frame))
        container.mux(video.encode())
    clip = Video(tmp_path / "late.mkv")
    assert clip.times[0] == 0
    track = np.concatenate(list(clip.sound(8000)))
    assert abs(np.flatnonzero(np.abs(track) > 0.3)[0] / 8000 - 0.25) < 0.002


def test_damaged_frames_are_left_out_with_a_warning(clip: Path) -> None:
    data = bytearray(clip.read_bytes())
    start = data.index(b"mdat") + 4
    packets = []
    with av.open(str(clip)) as container:
        packets = [(p.pos, p.size) for p in container.demux(video=0) if p.size]
    position, size = packets[7]
    assert position > start
    data[position : position + size] = bytes(size)
    broken = clip.with_name("broken.mp4")
    broken.write_bytes(data)
    with pytest.warns(RuntimeWarning, match="of 24 frames are damaged and were left out"):
        found = [(index, number_of(picture)) for index, picture in Video(broken).frames()]
    assert 15 <= len(found) < 24
    assert all(abs(index - number) <= 1 for index, number in found)


def test_cut_short_after_the_index_gives_what_is_there(tmp_path: Path) -> None:
    whole = encode(tmp_path / "whole.mp4", [numbered(i) for i in range(24)], [33 * i for i in range(24)])
    fast = tmp_path / "front.mp4"
    with av.open(str(whole)) as source, av.open(str(fast), "w", options={"movflags": "faststart"}) as out:
        stream = out.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                out.mux(packet)
    data = fast.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    (tmp_path / "cut.mp4").write_bytes(data[: data.index(b"mdat") + (len(data) - data.index(b"mdat")) // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        video = Video(tmp_path / "cut.mp4")
        numbers = [number_of(picture) for _, picture in video.frames()]
    assert 1 <= len(numbers) < 24
    assert numbers == sorted(numbers)


def test_files_that_are_no_videos_are_one_sentence(tmp_path: Path, clip: Path) -> None:
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "cut.mp4").write_bytes(clip.read_bytes()[:2000])
    (tmp_path / "text.mp4").write_text("not a video\n" * 50)
    with av.open(str(tmp_path / "song.mp4"), "w", format="mp3") as container:
        stream = container.add_stream("mp3", rate=48000, layout="mono")
        for number in range(100):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1152), np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts = 48000, 1152 * number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    (tmp_path / "folder").mkdir()
    for name, words in {
        "none.mp4": "does not exist",
        "empty.mp4": "is empty",
        "cut.mp4": "cut short",
        "text.mp4": "another format",
        "song.mp4": "holds sound but no video",
        "folder": "holds no pictures",
    }.items():
        with pytest.raises(FileError, match=words) as caught:
            Video(tmp_path / name)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_has_its_own_rate(clip: Path) -> None:
    with pytest.raises(InputError, match="leave out fps"):
        Video(clip, fps=30)


def test_video_without_key_frames(tmp_path: Path) -> None:
    """Periodic intra refresh: only the first frame is a key frame, yet all can be had."""
    path = encode(
        tmp_path / "refresh.mp4", [numbered(i) for i in range(24)], [33 * i for i in range(24)], gop=250
    )
    data = bytearray(path.read_bytes())
    table = data.find(b"stss")
    if table >= 0:  # the list of key frames is made empty
        data[table + 8 : table + 12] = struct.pack(">I", 0)
        path.write_bytes(data)
    video = Video(path)
    assert [number_of(video.frame(i)) for i in (20, 2)] == [20, 2]


def test_a_title_that_is_not_utf_8_does_not_matter(tmp_path: Path) -> None:
    # PyAV before 19 must be told so, and PyAV from 19 on must not be
    path = tmp_path / "titled.mp4"
    with av.open(str(path), "w") as container:
        container.metadata["title"] = "Strasse"
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for index in range(3):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(numbered(index), format="rgb24")))
        container.mux(stream.encode())
    data = path.read_bytes()
    assert b"Strasse" in data
    path.write_bytes(data.replace(b"Strasse", "Straße ".encode("latin-1")))
    assert len(Video(path)) == 3


def test_a_frame_that_cannot_be_converted_is_one_sentence(tmp_path: Path) -> None:
    """Little address space: FFmpeg cannot start the threads that convert."""
    import av

    from wideflow.video.colour import frame_grey, frame_rgb

    class Refuses:
        colorspace, width, height = 1, 8, 8
        format = av.VideoFormat("yuv420p")
        color_trc = 1

        def reformat(self, *_: object, **__: object) -> None:
            raise av.error.BlockingIOError(11, "Resource temporarily unavailable")

    for convert in (lambda: frame_rgb(Refuses()), lambda: frame_grey(Refuses(), (4, 4))):
        with pytest.raises(FileError, match="cannot be converted: resource temporarily unavailable"):
            convert()
