"""Letters that a terminal, a file or a locale does not have (LC_ALL=C, PYTHONIOENCODING=ascii)."""

import codecs
import sys

QUESTION_MARKS = "ensample.question-marks"


def show_what_can_be_shown() -> None:
    """From here on, letters that standard output does not have become question marks rather than errors."""
    codecs.register_error(QUESTION_MARKS, question_marks)
    if getattr(sys.stdout, "errors", "") in ("strict", "surrogateescape") and hasattr(
        sys.stdout, "reconfigure"
    ):
        sys.stdout.reconfigure(errors=QUESTION_MARKS)


def question_marks(error: UnicodeError) -> tuple[str, int]:
    """As many as the letters are wide, so that tables stay in line."""
    from rich.cells import cell_len

    assert isinstance(error, UnicodeEncodeError)
    return "?" * cell_len(error.object[error.start : error.end]), error.end


def as_typed(argument: str) -> str:
    """The text that was meant: a locale without its letters hands over bytes in disguise.

    >>> as_typed("Gr\\udcc3\\udcb6\\udcc3\\udc9fe"), as_typed("as it is")
    ('Größe', 'as it is')
    """
    try:
        return argument.encode(errors="surrogateescape").decode()
    except UnicodeError:
        return argument
