"""One verdict: what the figures of a run come to, in which words, and what follows from them."""

import json
import pickle
import re

import numpy as np
import pytest

from page_commands import ROOT
from wideflow.errors import CalibrationError, InputError, RefusedError
from wideflow.verdict import Finding, Verdict, require_trust
from wideflow.verdict.judge import (
    Shares,
    calibration_doubts,
    calibration_findings,
    judge,
    moments_findings,
    sync_finding,
    trust_finding,
)

ANGLES = np.array([14.0, 15.0, 16.0])
GOOD = Finding("Trust", "good", "All is well.")
WEAK = Finding("Moments", "weak", "Two are missing.", "Choose others.")
POOR = Finding("Calibration", "poor", "The cameras contradict each other.", "Give --rig.")


def test_the_verdict_is_as_good_as_its_weakest_part() -> None:
    fine, doubted, bad = Verdict((GOOD,)), Verdict((GOOD, WEAK)), Verdict((WEAK, GOOD, POOR))
    assert (fine.grade, fine.trusted, fine.exit_code, fine.reasons) == ("good", True, 0, ())
    assert (doubted.grade, doubted.trusted, doubted.exit_code) == ("weak", True, 0)
    assert (bad.grade, bad.trusted, bad.exit_code) == ("poor", False, 3)
    assert bad.headline == "Do not trust this result yet."
    assert bad.reasons == (
        "Calibration: The cameras contradict each other. Give --rig.",
        "Moments: Two are missing. Choose others.",
    )


def test_a_verdict_survives_json_and_damage_is_noticed() -> None:
    bad = Verdict((WEAK, GOOD, POOR))
    kept = json.loads(json.dumps(bad.as_dict()))
    assert Verdict.from_dict(kept) == bad
    for damage in (None, 3, {}, {"findings": {}}, {"findings": []}, {"findings": [3]}):
        assert Verdict.from_dict(damage) is None
    for name, value in (("grade", "splendid"), ("sentence", None), ("topic", 3)):
        kept = json.loads(json.dumps(bad.as_dict()))
        kept["findings"][2][name] = value
        assert Verdict.from_dict(kept) is None  # never better than it was


def test_a_refusal_has_all_poor_reasons_and_the_way_round_it() -> None:
    require_trust([GOOD, WEAK])
    with pytest.raises(RefusedError) as refused:
        require_trust([GOOD, POOR, WEAK])
    said = str(refused.value)
    assert POOR.words in said
    assert WEAK.sentence not in said
    assert "--anyway" in said


def test_a_calibration_that_fails_names_its_step() -> None:
    error = CalibrationError("placing the moments in one world", "3 of 20 agree", "film what stands still")
    assert isinstance(error, InputError)
    said = "calibration failed while placing the moments in one world: 3 of 20 agree; film what stands still"
    assert str(error) == said
    assert str(pickle.loads(pickle.dumps(error))) == said


def test_sync_in_words() -> None:
    good = {"offset_seconds": -0.5, "method": "sound", "confidence": 0.9, "pair_error_mean": 0.004}
    assert sync_finding(good).grade == "good"
    assert "A started 0.500 s after B, found by sound (90 % sure)" in sync_finding(good).sentence
    assert sync_finding(good).remedy == ""
    unsure = sync_finding({**good, "confidence": 0.4})
    assert unsure.grade == "weak"
    assert unsure.sentence.startswith("Perhaps synchronised")
    assert "--offset" in unsure.remedy
    assert sync_finding({**good, "confidence": 0.1}).grade == "poor"
    late = sync_finding({**good, "pair_error_mean": 0.015})
    assert late.grade == "weak"
    assert "60 frames" in late.remedy
    minded = sync_finding({**good, "pair_error_mean": 0.015, "one_time": True})
    assert minded.grade == "good"
    assert "15 ms apart on average, over which B's were moved to the times of A's" in minded.sentence
    given = sync_finding({"offset_seconds": 0.2, "method": "given", "confidence": 1.0})
    assert given.sentence == "Synchronised as you said: B started 0.200 s after A."


CALIBRATED = {
    "source": "structure from motion",
    "reprojection_error": 0.4,
    "frames": 10,
    "registered": [10, 10],
}


def test_calibration_in_words() -> None:
    (found,) = calibration_findings(CALIBRATED, ANGLES)
    assert found.sentence == "Calibrated to 0.4 px by structure from motion; the cameras look 15° apart."
    assert (found.grade, found.remedy) == ("good", "")
    for error, grade in ((1.4, "good"), (2.0, "weak"), (9.0, "poor")):
        (found,) = calibration_findings({**CALIBRATED, "reprojection_error": error}, ANGLES)
        assert found.grade == grade
    (found,) = calibration_findings({**CALIBRATED, "registered": [10, 8]}, ANGLES)
    assert "8 of 10 frames" in found.sentence
    (found,) = calibration_findings(CALIBRATED, np.array([70.0]))
    assert (found.grade, "closer together" in found.remedy) == ("weak", True)


def test_doubts_of_the_calibration_are_in_the_verdict_and_no_small_error_sounds_like_proof() -> None:
    doubts = [
        {"topic": "Calibration", "grade": "weak", "sentence": "Few points.", "remedy": "Film closer."},
        {"topic": "Lenses", "grade": "poor", "sentence": "No usual lens.", "remedy": "Give it."},
    ]
    calibration = {**CALIBRATED, "reprojection_error": 0.01, "doubts": doubts}
    where, lenses = calibration_findings(calibration, ANGLES)
    assert where.sentence == "Calibrated by structure from motion; the cameras look 15° apart. Few points."
    assert (where.grade, where.remedy) == ("weak", "Film closer.")
    assert (lenses.topic, lenses.grade) == ("Lenses", "poor")
    assert [doubt.grade for doubt in calibration_doubts(calibration, ANGLES)] == ["weak", "poor"]
    # a damaged list is none, and a large error still counts
    (found,) = calibration_findings({**calibration, "doubts": 3, "reprojection_error": 9.0}, ANGLES)
    assert found.grade == "poor"
    (found,) = calibration_findings({**calibration, "reprojection_error": 9.0, "doubts": doubts[:1]}, ANGLES)
    assert (found.grade, "9 px off" in found.sentence) == ("poor", True)


def test_results_of_older_versions_have_one_sentence_of_doubt() -> None:
    old = {**CALIBRATED, "weak": "the cameras share only 3 points; film closer"}
    (found,) = calibration_findings(old, ANGLES)
    assert found.grade == "weak"
    assert found.sentence.endswith("The cameras share only 3 points; film closer.")
    (fine,) = calibration_findings({**CALIBRATED, "weak": None}, ANGLES)
    assert fine.grade == "good"


def test_what_cannot_be_checked_is_not_poor_and_has_no_error() -> None:
    unchecked = {
        "source": "given",
        "reprojection_error": None,
        "reprojection_error_median": None,
        "doubts": [{"topic": "Calibration", "grade": "weak", "sentence": "It could not be checked."}],
    }
    (found,) = calibration_findings(unchecked, ANGLES)
    assert found.sentence == "The cameras were given; they look 15° apart. It could not be checked."
    assert found.grade == "weak"


def test_moments_that_do_not_come_are_said() -> None:
    assert moments_findings({}) == ()
    assert moments_findings({"asked": 4, "filmed": "x", "placed": 2}) == ()
    (all_there,) = moments_findings({"asked": 4, "filmed": 4, "placed": 4, "unmatched": 0})
    assert (all_there.grade, all_there.sentence) == ("good", "All 4 moments asked for are there.")
    (half,) = moments_findings({"asked": 4, "filmed": 3, "placed": 2})
    assert half.grade == "weak"
    assert half.sentence == (
        "Only 2 of the 4 moments asked for are there: B was not filming during 1, the cameras are not known "
        "in 1."
    )
    assert "--frames" in half.remedy
    (blurred,) = moments_findings({"asked": 4, "filmed": 4, "placed": 4, "unmatched": 1})
    assert "3 of the 4 moments asked for are there: 1 could not be matched." in blurred.sentence


def shares(*trusted: float, known: float = 1.0, likely: float = 0.0) -> Shares:
    count = len(trusted)
    return Shares(
        np.arange(count),
        np.array(trusted),
        np.full(count, 0.2),
        np.full(count, known),
        np.full(count, likely),
    )


def test_trust_in_words() -> None:
    good = trust_finding(shares(0.5, 0.6, 0.9))
    assert good.grade == "good"
    assert good.sentence == "55 % of the picture is trusted; B does not see 20 % of it."
    assert trust_finding(shares(0.2, 0.2)).grade == "weak"
    assert "double edges" in trust_finding(shares(0.2, 0.2)).remedy
    assert trust_finding(shares(0.02, 0.02)).grade == "poor"
    assert trust_finding(shares(0.02, 0.02, likely=0.2)).grade == "weak"
    assert "Moment 1 is the weakest with 30 %" in trust_finding(shares(0.7, 0.3, 0.7)).sentence
    assert "No moment" in trust_finding(shares(0.0, known=0.0)).sentence
    half = Shares(
        np.arange(4), np.array([0.6, 0.6, 0, 0]), np.zeros(4), np.array([1.0, 1.0, 0, 0]), np.zeros(4)
    )
    assert "50 % of the moments are not computed" in trust_finding(half).sentence
    assert "goes on" in trust_finding(half).remedy


def test_a_finished_run_does_not_ask_to_be_started_again() -> None:
    nothing = trust_finding(shares(0.0, 0.0, known=0.0), finished=True)
    assert (nothing.grade, "goes on" in nothing.words) == ("poor", False)
    assert nothing.sentence == "No pixel of any moment has a depth."
    half = Shares(
        np.arange(4), np.array([0.6, 0.6, 0, 0]), np.zeros(4), np.array([1.0, 1.0, 0, 0]), np.zeros(4)
    )
    assert trust_finding(half, finished=True).grade == "good"


def test_all_parts_come_together() -> None:
    summary = {
        "sync": {"offset_seconds": 0.1, "confidence": 0.1},
        "moments": {"asked": 2, "filmed": 2, "placed": 2, "unmatched": 0},
    }
    verdict = judge(summary, shares(0.7, 0.7), np.array([15.0]))
    assert [(finding.topic, finding.grade) for finding in verdict.findings] == [
        ("Synchronisation", "poor"),
        ("Calibration", "good"),
        ("Moments", "good"),
        ("Trust", "good"),
    ]
    assert not verdict.trusted
    assert judge({"sync": 3, "calibration": [], "moments": "x"}, shares(0.7, 0.7), ANGLES).grade == "good"


def test_the_page_on_the_report_has_the_limits_of_trust() -> None:
    page = (ROOT / "docs/report.md").read_text(encoding="utf-8")
    row = re.search(
        r"^\| Trust \| at least (\d+) % .*\| (\d+) to (\d+) %.*\| below (\d+) %", page, re.MULTILINE
    )
    assert row
    good, lower, upper, poor = (int(number) / 100 for number in row.groups())
    assert (good, lower) == (upper, poor)
    grades = [trust_finding(shares(*[share] * 3)).grade for share in (good, good - 0.001, poor, poor - 0.001)]
    assert grades == ["good", "weak", "weak", "poor"]
