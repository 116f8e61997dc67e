"""Errors a user can cause. The command line prints them as one sentence and exits with 2."""


class WideflowError(Exception):
    """Base of every error whose message is meant for the user: what is wrong, where, what to do."""


class FileError(WideflowError):
    """A file that is missing, damaged, of another format, or cannot be written."""


class DamagedError(FileError):
    """A piece of a result that is missing or not as it was written; the next run computes it again."""


class ConfigError(WideflowError):
    """A setting that does not exist, has the wrong type, or an impossible value."""


class InputError(WideflowError):
    """Arrays, pictures or cameras that do not fit together or hold nothing to work on."""


class NothingInCommonError(InputError):
    """Two pictures of which no pixel could be matched."""


class RefusedError(InputError):
    """Videos or cameras that a result would not be worth the time of; the user may go on all the same."""


class CalibrationError(InputError):
    """The cameras could not be found.

    Parameters
    ----------
    step : str
        What was being done, as it stands after "while": "matching the two cameras at one moment".
    reason : str
        What is wrong, with the figures.
    remedy : str
        What to do about it.
    """

    def __init__(self, step: str, reason: str, remedy: str) -> None:
        super().__init__(step, reason, remedy)  # all of them, so that it survives pickling
        self.step, self.reason, self.remedy = step, reason, remedy

    def __str__(self) -> str:
        return f"calibration failed while {self.step}: {self.reason}; {self.remedy}"


class MissingExtraError(WideflowError):
    """An optional package is needed; the message says which extra to install."""
