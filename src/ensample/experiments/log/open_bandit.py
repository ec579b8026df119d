"""The Open Bandit Dataset as a log, from where the user has put the files: nothing is downloaded.

Columns of `{campaign}.csv`: `timestamp`, `item_id`, `position` (1 to 3), `click`,
`propensity_score`, `user_feature_0` to `user_feature_3` (hashed words) and `user-item_affinity_0`,
..., one number for each item.

Reference: Y. Saito, S. Aihara, M. Matsutani and Y. Narita, "Open Bandit Dataset and Pipeline:
Towards Realistic and Reproducible Off-Policy Evaluation", NeurIPS Datasets and Benchmarks 2021,
arXiv 2008.07146.
"""

import os
from typing import TYPE_CHECKING, Any

from ensample.checks import boolean
from ensample.errors import InvalidArgument
from ensample.experiments.log.table import existing_file, readable
from ensample.extras import package

if TYPE_CHECKING:
    import polars

NEEDED = {"timestamp", "item_id", "position", "click", "propensity_score"}
ITEMS = "item_context.csv"
SLACK = 1e-6  # by which a propensity may miss 1/K
DATASET = "a file of the Open Bandit Dataset"


def read_open_bandit(
    path: str | os.PathLike[str], *, affinities: bool = False
) -> "polars.DataFrame":
    """Read a file of the Open Bandit Dataset as a log for `evaluate`.

    The context has the user's features and the position; with `affinities` also the user's with
    each item, as numbers. Actions are the items by number. Where all propensities are 1/K (the
    policy `random`), the log has `offer` and `propensities` too, so that a recipe can be asked what
    it would have earned in that policy's place: `evaluate(log, recipe, question="replay")`.
    `item_context.csv`, where it is beside the file, says which items there are.

    >>> import ensample as es, tempfile, pathlib
    >>> names = "timestamp,item_id,position,click,propensity_score,user_feature_0"
    >>> lines = names, "2019-11-24,1,3,0,0.5,x", "2019-11-25,0,1,1,0.5,y"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = pathlib.Path(folder, "all.csv").write_text("\\n".join(lines))
    ...     log = es.read_open_bandit(f"{folder}/all.csv")
    >>> log.row(0, named=True)["context"], log["propensities"].to_list()
    ({'user_feature_0': 'x', 'position': '3'}, [[0.5, 0.5], [0.5, 0.5]])
    """
    boolean("affinities", affinities)
    pl = package("polars", "read_open_bandit")
    file = existing_file(path, f"{DATASET}, such as random/all/all.csv")
    with readable(os.fspath(path), DATASET):
        frame = pl.read_csv(file, try_parse_dates=True)
        if missing := sorted(NEEDED - set(frame.columns)):
            expected = f"{DATASET}; missing: {', '.join(missing)}"
            raise InvalidArgument("path", os.fspath(path), expected)
        beside = file.with_name(ITEMS)
        source = pl.read_csv(beside) if beside.is_file() else frame
        items = [str(item) for item in source["item_id"].unique().sort()]
        return as_log(pl, frame, items, affinities)


def as_log(
    pl: Any, frame: "polars.DataFrame", items: list[str], affinities: bool
) -> "polars.DataFrame":
    parts = [pl.col(name) for name in frame.columns if name.startswith("user_feature_")]
    parts.append(pl.col("position").cast(pl.String))
    if affinities:
        names = [name for name in frame.columns if name.startswith("user-item_affinity_")]
        parts += [pl.col(name).cast(pl.Float64) for name in names]
    log: polars.DataFrame = frame.select(
        pl.col("timestamp").alias("time"),
        pl.col("position"),
        pl.struct(parts).alias("context"),
        pl.col("item_id").cast(pl.String).alias("action"),
        pl.col("propensity_score").cast(pl.Float64).alias("propensity"),
        pl.col("click").cast(pl.Float64).alias("reward"),
    )
    share = 1.0 / len(items)
    if ((log["propensity"] - share).abs() < SLACK).all():
        log = log.with_columns(
            pl.lit(share).alias("propensity"),
            pl.Series("offer", [items]).new_from_index(0, log.height),
            pl.Series("propensities", [[share] * len(items)]).new_from_index(0, log.height),
        )
    return log
