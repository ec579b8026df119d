"""Objects as plain data and back: recipes, laws, models, problems, features and rules of rewards.

A description is a dict with the `kind` of an object and its fields. It has three forms:

- `describe` and `rebuild`: every field, in snapshots, events and answers of the service. Reading
  imports nothing: the file may be anybody's.
- `to_table` and `from_table`: the fields that differ from their defaults, in studies. A text may
  name a part or give a number in units of the problem ("2 noise"); "none" is None, which TOML has
  not. `from_json` reads such tables from anybody, for the service.
- `from_text`: what one types, `EnsembleSampling(size=20, scale=2*noise)`; parsed, never evaluated.

All of them check and call constructors by `construct`. Errors name a field by its path:
"model.fit = 'exakt': expected one of 'stream', 'exact'".
"""

from ensample.codec.arguments import (
    ANYTHING,
    PARTS,
    RECIPES,
    Units,
    check_names,
    classes_of,
    construct,
    object_of,
)
from ensample.codec.stored import describe, rebuild, upgrade, without_modules
from ensample.codec.tables import definition, from_json, from_table, to_table
from ensample.codec.text import THEOREM, from_text

__all__ = [
    "ANYTHING",
    "PARTS",
    "RECIPES",
    "THEOREM",
    "Units",
    "check_names",
    "classes_of",
    "construct",
    "definition",
    "describe",
    "from_json",
    "from_table",
    "from_text",
    "object_of",
    "rebuild",
    "to_table",
    "upgrade",
    "without_modules",
]
