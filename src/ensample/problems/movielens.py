"""MovieLens' files, from where the user has put them: nothing is downloaded.

Reference: F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM Transactions on Interactive
Intelligent Systems 5 (2015).
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensample.checks import file_path
from ensample.errors import InvalidArgument
from ensample.extras import package

if TYPE_CHECKING:
    import polars


FILES = ("ratings.csv", "ratings.dat", "u.data")
NAMES = ["user", "item", "rating", "time"]


def read_movielens(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """The ratings of a MovieLens data set, one a row: user, item, rating, time (seconds since 1970).

    `path`: the folder, or the file of ratings in it: `ratings.csv` (the newer sets), `ratings.dat` (1M, 10M), `u.data` (100K).

    >>> import ensample as es, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = pathlib.Path(folder, "ratings.dat").write_text("1::1193::5::978300760\\n1::661::3::978302109\\n")
    ...     es.read_movielens(folder).rows()
    [(1, 1193, 5.0, 978300760), (1, 661, 3.0, 978302109)]
    """
    file, polars = ratings_file(file_path("path", path)), package("polars", "read_movielens")
    try:
        frame = named(polars, file)
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise InvalidArgument("path", os.fspath(path), f"ratings of MovieLens ({said})") from error
    if frame.is_empty() or any(frame[name].null_count() for name in NAMES[:3]):
        raise InvalidArgument(
            "path",
            os.fspath(path),
            "ratings of MovieLens: user, item, rating and time in every row",
        )
    return frame  # type: ignore[no-any-return]


def ratings_file(path: Path) -> Path:
    """The file of ratings that a path leads to."""
    found = next((path / name for name in FILES if (path / name).is_file()), path)
    if not found.is_file():
        raise InvalidArgument(
            "path", os.fspath(path), f"a file of ratings, or a folder with {', '.join(FILES)}"
        )
    return found


def named(polars: Any, file: Path) -> Any:
    """With our names and types; `::` between two fields leaves an empty one to a reader that knows one sign."""
    if file.suffix == ".csv":
        frame = polars.read_csv(file).rename(
            {"userId": "user", "movieId": "item", "timestamp": "time"}, strict=False
        )
    elif file.suffix == ".dat":
        frame = polars.read_csv(file, has_header=False, separator=":").select(
            polars.nth(0, 2, 4, 6).name.keep()
        )
        frame.columns = NAMES
    else:
        frame = polars.read_csv(file, has_header=False, separator="\t", new_columns=NAMES)
    kinds = {
        "user": polars.Int64,
        "item": polars.Int64,
        "rating": polars.Float64,
        "time": polars.Int64,
    }
    return frame.select(polars.col(name).cast(kind) for name, kind in kinds.items())
