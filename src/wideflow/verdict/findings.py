"""The one verdict on a result: what was found, how good that is, and what to do about it.

Console, log, report, exit code and `Result.verdict` all show this object, so none of them can say another
thing than the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from wideflow.errors import RefusedError

Grade = Literal["good", "weak", "poor"]
GRADES: tuple[Grade, ...] = get_args(Grade)  # from best to worst
HEADLINES: dict[Grade, str] = {
    "good": "It worked.",
    "weak": "It worked, with weak spots.",
    "poor": "Do not trust this result yet.",
}
NOT_TRUSTED = 3  # exit code of what finished but is not to be trusted


@dataclass(frozen=True)
class Finding:
    """One part of the verdict.

    Attributes
    ----------
    topic : str
    grade : {"good", "weak", "poor"}
        "poor" means that what follows from it is not to be trusted.
    sentence : str
        What was found.
    remedy : str
        What to do about it; empty if nothing needs doing.
    """

    topic: str
    grade: Grade
    sentence: str
    remedy: str = ""

    @property
    def words(self) -> str:
        """Sentence and remedy."""
        return f"{self.sentence} {self.remedy}".strip()


@dataclass(frozen=True)
class Verdict:
    """What to think of a result; as good as the worst of its findings."""

    findings: tuple[Finding, ...]

    @property
    def grade(self) -> Grade:
        """The worst of all grades."""
        return worst(finding.grade for finding in self.findings)

    @property
    def trusted(self) -> bool:
        """Nothing found speaks against the result as a whole."""
        return self.grade != "poor"

    @property
    def exit_code(self) -> int:
        """0 for a result to be trusted, else 3."""
        return 0 if self.trusted else NOT_TRUSTED

    @property
    def headline(self) -> str:
        """The grade in one sentence."""
        return HEADLINES[self.grade]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Topic, sentence and remedy of every finding that is not good, the poor ones first."""
        doubts = [finding for finding in self.findings if finding.grade != "good"]
        doubts.sort(key=lambda finding: -GRADES.index(finding.grade))
        return tuple(f"{finding.topic}: {finding.words}" for finding in doubts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "grade": self.grade,
            "trusted": self.trusted,
            "headline": self.headline,
            "findings": [asdict(finding) for finding in self.findings],
        }

    @staticmethod
    def from_dict(values: Any) -> Verdict | None:
        """What `as_dict` gave; None if that is not there or any finding of it is damaged."""
        found = values.get("findings") if isinstance(values, dict) else None
        if not isinstance(found, list) or not found:
            return None
        findings = findings_from(found)
        # a verdict without the finding that spoke against it would be better than the result is
        return Verdict(findings) if len(findings) == len(found) else None


def worst(grades: Iterable[Grade]) -> Grade:
    """The worst of some grades; "good" of none."""
    return max(grades, key=GRADES.index, default="good")


def findings_from(values: Any) -> tuple[Finding, ...]:
    """The findings in a list from JSON; what is none is left out."""
    found = []
    for value in values if isinstance(values, list) else []:
        fields = value if isinstance(value, dict) else {}
        topic, grade, sentence = (fields.get(name) for name in ("topic", "grade", "sentence"))
        if isinstance(topic, str) and grade in GRADES and isinstance(sentence, str):
            found.append(Finding(topic, grade, sentence, str(fields.get("remedy") or "")))
    return tuple(found)


def require_trust(findings: Iterable[Finding]) -> None:
    """Refuse to go on from findings that are poor.

    Raises
    ------
    RefusedError
        With the words of all of them, and how to go on all the same.
    """
    poor = [finding.words for finding in findings if finding.grade == "poor"]
    if poor:
        raise RefusedError(f"{' '.join(poor)} (--anyway goes on all the same)")
