"""Flows of the user's own: they speak where they are right, and harm nowhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wideflow
from wideflow.config import load_config
from wideflow.pipeline.step.voices import FlowFiles, Heard, Network, open_voice
from wideflow.types import Camera

K = np.array([[50.0, 0, 15.5], [0, 50, 11.5], [0, 0, 1]])
CAMERAS = Camera("a", 32, 24, K), Camera("b", 32, 24, K)
PICTURE = np.zeros((24, 32, 3), np.float32)


def flow(value: float, shape: tuple[int, int] = (24, 32)) -> np.ndarray:
    return np.full((*shape, 2), value, np.float32)


def written(folder: Path, name: str, uv: np.ndarray) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    wideflow.write_flow(path, uv)
    return path


def test_a_folder_speaks_of_the_flows_that_it_has(tmp_path: Path) -> None:
    written(tmp_path, "stereo/000000.flo", flow(3))
    written(tmp_path, "optical_b/000001.flo", flow(5))
    voice = open_voice(tmp_path, CAMERAS, 3)
    said = Heard(voice, "stereo", 0).proposals(PICTURE, PICTURE)
    assert [each.flow.mean() for each in said] == [3]
    assert Heard(voice, "stereo", 1).proposals(PICTURE, PICTURE) == []
    assert Heard(voice, "optical_b", 1).proposals(PICTURE, PICTURE)[0].flow.mean() == 5
    assert voice.key("stereo", 1) == ""
    before = voice.key("stereo", 0)
    written(tmp_path, "stereo/000000.flo", flow(4))
    assert open_voice(tmp_path, CAMERAS, 3).key("stereo", 0) != before


def test_nobody_says_nothing() -> None:
    assert Heard(None, "stereo", 0).proposals(PICTURE, PICTURE) == []


@pytest.mark.parametrize(
    ("name", "shape", "sentence"),
    [
        ("stereo/000007.flo", (24, 32), "holds no stereo/000000.flo"),
        ("stereo/000000.flo", (24, 30), "is of 30x24 pixels, not 32x24"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(
    tmp_path: Path, name: str, shape: tuple[int, int], sentence: str
) -> None:
    written(tmp_path, name, flow(1, shape))
    with pytest.raises(wideflow.FileError, match=sentence):
        open_voice(tmp_path, CAMERAS, 2)


def test_what_is_neither_a_folder_nor_a_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wideflow.FileError, match="neither a folder of flows"):
        open_voice(tmp_path / "nothing", CAMERAS, 2)
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"nothing")
    with pytest.raises(wideflow.FileError, match="no ONNX model"):
        open_voice(broken, CAMERAS, 2)


def brightness_network(path: Path, size: tuple[object, object], flow_channels: int = 2) -> Path:
    """A network whose flow is the first channels of the second picture less the first, in grey levels."""
    onnx = pytest.importorskip("onnx")
    shape = [1, 3, *size]
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("one", "two")
    ]
    output = onnx.helper.make_tensor_value_info("flow", onnx.TensorProto.FLOAT, None)
    ends = onnx.helper.make_tensor("ends", onnx.TensorProto.INT64, [1], [flow_channels])
    starts = onnx.helper.make_tensor("starts", onnx.TensorProto.INT64, [1], [0])
    axes = onnx.helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [1])
    nodes = [
        onnx.helper.make_node("Sub", ["two", "one"], ["apart"]),
        onnx.helper.make_node("Slice", ["apart", "starts", "ends", "axes"], ["flow"]),
    ]
    graph = onnx.helper.make_graph(nodes, "brightness", inputs, [output], [starts, ends, axes])
    opset = [onnx.helper.make_opsetid("", 13)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))
    return path


@pytest.mark.parametrize("size", [(64, 128), ("h", "w")], ids=["one size", "any size"])
def test_a_network_speaks_in_pixels_of_the_pictures(tmp_path: Path, size: tuple[object, object]) -> None:
    pytest.importorskip("onnxruntime")
    path = brightness_network(tmp_path / "net.onnx", size)
    voice = open_voice(path, CAMERAS, 2)
    assert isinstance(voice, Network)
    second = np.full((48, 64, 3), (10 / 255, 6 / 255, 0), np.float32)  # of twice the size
    found = Heard(voice, "stereo", 0).proposals(PICTURE, second)[0].flow
    columns, rows = (128, 64) if size[0] == 64 else (64, 64)
    x, y = np.meshgrid(np.arange(32), np.arange(24))
    # the network's pixels are as many as it was asked for; borders lie on borders
    assert found[..., 0] == pytest.approx(((x + 0.5) / 32 + 10 / columns) * 64 - 0.5 - x, abs=1e-3)
    assert found[..., 1] == pytest.approx(((y + 0.5) / 24 + 6 / rows) * 48 - 0.5 - y, abs=1e-3)


def test_a_network_without_a_flow_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    voice = open_voice(brightness_network(tmp_path / "net.onnx", (32, 32), 1), CAMERAS, 2)
    with pytest.raises(wideflow.InputError, match="last output"):
        Heard(voice, "stereo", 0).proposals(PICTURE, PICTURE)


def test_a_right_flow_is_taken_and_a_wrong_one_is_not() -> None:
    """Two pictures further apart than the search of optical flow reaches: only a proposal finds them."""
    chance = np.random.default_rng(0)
    import cv2

    large = cv2.GaussianBlur(chance.random((120, 320, 3), np.float32), (0, 0), 1.5)
    large = (large - large.min()) / (large.max() - large.min())
    first, second = large[:, 90:250], large[:, :160]  # what is at x there lies at x + 90 here
    settings = load_config(None, ["match.search_range=0.02"]).match
    truth = np.zeros((120, 160, 2), np.float32)
    truth[..., 0] = 90

    def wrong(*proposals: wideflow.Proposal) -> float:
        found = wideflow.match(first, second, "optical", None, settings, proposals=proposals).forward.uv
        return float((np.linalg.norm(found - truth, axis=2)[:, 10:60] > 1).mean())

    assert wrong() > 0.5
    assert wrong(wideflow.Proposal(truth)) < 0.05
    assert wrong(wideflow.Proposal(truth), wideflow.Proposal(truth + np.float32(17))) < 0.05


def test_flow_files_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "stereo/000000.flo", flow(1))
    voice = open_voice(tmp_path, CAMERAS, 1)
    assert isinstance(voice, FlowFiles)
    path.unlink()
    with pytest.raises(wideflow.FileError):
        Heard(voice, "stereo", 0).proposals(PICTURE, PICTURE)
