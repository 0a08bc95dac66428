"""Every error this package raises on purpose, each with one meaning."""


class UrlrError(Exception):
    """Base of all errors raised on purpose; its text says what, how many, and what to do."""


class VoteError(UrlrError):
    """The votes cannot be used, or the answer they would give is meaningless."""


class FeatureError(UrlrError):
    """The feature table cannot be used as it is."""


class ConvergenceError(UrlrError):
    """A solver missed its tolerance; the text gives violation, tolerance and iterations."""


class ModelFileError(UrlrError):
    """A model file is truncated, foreign, tampered with, or from a future version."""
