"""Errors a user can cause. The command line prints them as one sentence and exits with 2."""


class WideflowError(Exception):
    """Base of every error whose message is meant for the user: what is wrong, where, what to do."""


class FileError(WideflowError):
    """A file that is missing, damaged, of another format, or cannot be written."""


class ConfigError(WideflowError):
    """A setting that does not exist, has the wrong type, or an impossible value."""


class InputError(WideflowError):
    """Arrays, pictures or cameras that do not fit together or hold nothing to work on."""


class MissingExtraError(WideflowError):
    """An optional package is needed; the message says which extra to install."""
