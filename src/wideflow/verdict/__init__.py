"""What to think of a result: findings with their remedies, and how they follow from the figures of a run."""

from wideflow.verdict.findings import (
    GRADES,
    Finding,
    Grade,
    Verdict,
    findings_from,
    require_trust,
    worst,
)

__all__ = ["GRADES", "Finding", "Grade", "Verdict", "findings_from", "require_trust", "worst"]
