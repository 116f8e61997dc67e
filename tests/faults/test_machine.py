"""A few of the sequences that `make faults` tries many of."""

from hypothesis import HealthCheck, settings

from faults.machine import ResultMachine

TestResultMachine = ResultMachine.TestCase
TestResultMachine.settings = settings(
    max_examples=6,
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
