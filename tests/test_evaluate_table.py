"""Tables, comparisons with an earlier run, and charts."""

import csv
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wideflow.errors import FileError
from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.table import Row, compare, read_results, write_comparison, write_tables

ROWS: list[Row] = [
    {"scene": "one", "stage": "fill", "stereo_bad3": 10.0, "stereo_mean": 2.0, "seconds": 4.0},
    {"scene": "two", "stage": "fill", "stereo_bad3": 20.0, "occluded_f1": 80.0, "stereo_mean": math.nan},
]
SVG = "{http://www.w3.org/2000/svg}"


def changed(**values: float) -> list[Row]:
    return [ROWS[0] | values, ROWS[1]]


def test_tables_hold_the_rows_and_what_columns_mean(tmp_path: Path) -> None:
    write_tables(tmp_path, "toy", ROWS)
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["scene"] for row in rows] == ["one", "two"]
    assert float(rows[0]["stereo_bad3"]) == 10
    assert rows[0]["occluded_f1"] == ""
    text = (tmp_path / "table.md").read_text()
    assert text.splitlines()[0].startswith("| scene | stage | stereo_bad3 |")
    assert "- `stereo_bad3`: per cent" in text
    json.loads((tmp_path / "results.json").read_text(), parse_constant=pytest.fail)  # no NaN in it
    again = read_results(tmp_path / "results.json")
    assert again[0] == ROWS[0]
    assert math.isnan(float(again[1]["stereo_mean"]))


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ({}, "same"),
        ({"stereo_bad3": 10.1}, "same"),
        ({"stereo_bad3": 12.0}, "worse"),
        ({"stereo_bad3": 8.0}, "better"),
        ({"stereo_bad3": math.nan}, "worse"),
        ({"seconds": 400.0}, "same"),
        ({"stereo_bad3": 11.0, "stereo_mean": 1.0}, "better"),
    ],
)
def test_verdicts(new: dict[str, float], verdict: str) -> None:
    first, second = compare(changed(**new), ROWS)
    assert (first.name, first.verdict) == ("one fill", verdict)
    assert second.verdict == "same"


def test_more_is_better_for_some() -> None:
    better = [ROWS[0], ROWS[1] | {"occluded_f1": 90.0}]
    assert compare(better, ROWS)[1].verdict == "better"
    assert compare(ROWS, better)[1].verdict == "worse"


def test_rows_that_come_and_go() -> None:
    verdicts = compare([ROWS[0], ROWS[1] | {"scene": "three"}], ROWS)
    assert [(v.name, v.verdict) for v in verdicts] == [
        ("one fill", "same"),
        ("three fill", "new"),
        ("two fill", "gone"),
    ]


@given(st.floats(0.01, 100), st.floats(0.01, 100))
@settings(max_examples=50, deadline=None)
def test_a_comparison_turned_round_turns_its_verdict(old: float, new: float) -> None:
    opposite = {"better": "worse", "worse": "better", "same": "same"}
    there = compare(changed(stereo_bad3=new), changed(stereo_bad3=old))[0].verdict
    back = compare(changed(stereo_bad3=old), changed(stereo_bad3=new))[0].verdict
    assert back == opposite[there]


def test_the_comparison_is_written(tmp_path: Path) -> None:
    write_comparison(tmp_path, compare(changed(stereo_bad3=20.0), ROWS))
    text = (tmp_path / "comparison.md").read_text()
    assert "| one fill | worse | +4" in text
    assert "at most 2%" in text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"rows": 3}', '{"rows": [1]}', "\xff"])
def test_other_files_are_no_results(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(FileError, match=r"results\.json"):
        read_results(tmp_path / "results.json")


def test_means_leave_out_what_is_unknown() -> None:
    (mean,) = mean_rows(ROWS, "stage")
    assert mean == {
        "scene": "mean",
        "stage": "fill",
        "stereo_bad3": 15,
        "stereo_mean": 2,
        "occluded_f1": 80,
    } | {"seconds": 4}
    assert mean_rows(ROWS[:1], "stage") == []


def points_of(svg: str) -> list[list[tuple[float, float]]]:
    lines = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    return [[tuple(map(float, p.split(","))) for p in line.get("points").split()] for line in lines]


def test_a_line_chart_is_to_scale() -> None:
    chart = Chart("A & B", "x < 3", "px", [0.0, 1.0, 3.0], {"rising": [0, 1, 3], "gap": [1, math.nan, 2]})
    svg = draw([chart])
    rising, gap = points_of(svg)
    assert len(gap) == 2
    (x0, y0), (x1, y1), (x3, y3) = rising
    assert (x3 - x0) == pytest.approx(3 * (x1 - x0), abs=0.3)
    assert (y0 - y3) == pytest.approx(3 * (y0 - y1), abs=0.3)
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {"A & B", "x < 3", "px", "rising", "gap"} <= set(texts)


def test_bars_are_to_scale_and_marks_are_drawn() -> None:
    chart = Chart("t", "x", "y", ["a", "b"], {"": [2.0, 4.0]}, bars=True, marks=[3.0])
    svg = ElementTree.fromstring(draw([chart]))
    bars = [rect for rect in svg.iter(f"{SVG}rect") if rect.get("fill", "").startswith("#a")]
    heights = [float(bar.get("height")) for bar in bars]
    assert heights[1] == pytest.approx(2 * heights[0], rel=0.01)
    (mark,) = [line for line in svg.iter(f"{SVG}line") if line.get("stroke-dasharray")]
    tops = [float(bar.get("y")) for bar in bars]
    assert tops[1] < float(mark.get("y1")) < tops[0]


def test_names_that_do_not_fit_side_by_side_are_turned() -> None:
    def chart(names: list[str]) -> ElementTree.Element:
        return ElementTree.fromstring(draw([Chart("t", "x", "y", names, {"": [1.0] * len(names)})]))

    few, many = chart(["one", "two"]), chart([f"a long name {i}" for i in range(20)])
    turned = [text for text in many.iter(f"{SVG}text") if "rotate(-50" in text.get("transform", "")]
    assert len(turned) == 20
    assert not any("rotate(-50" in text.get("transform", "") for text in few.iter(f"{SVG}text"))
    lowest = max(float(text.get("y")) for text in many.iter(f"{SVG}text"))
    assert float(few.get("height")) < lowest < float(many.get("height"))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_chart_is_well_formed_and_inside_its_frame(values: list[float], zero: bool) -> None:
    chart = Chart("t", "x", "y", [float(i) for i in range(len(values))], {"v": values}, zero=zero)
    (line,) = points_of(draw([chart, chart])[:None])[:1]
    assert all(0 <= x <= 460 and 0 <= y <= 280 for x, y in line)
