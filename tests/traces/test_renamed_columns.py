"""Tables with earlier names of columns are read with their present names."""

from pathlib import Path

import pandas as pd

from traces.tables import RENAMED_COLUMNS, read_columns, read_rows


def test_earlier_names_are_read_as_present_ones(tmp_path: Path) -> None:
    for earlier, present in RENAMED_COLUMNS.items():
        pd.DataFrame({"row": [0, 1], earlier: [5, 7]}).to_parquet(tmp_path / "old.parquet")
        assert list(read_rows(tmp_path / "old.parquet", ("row", present))) == ["row", present]
        assert read_columns(tmp_path / "old.parquet", (present,))[present].tolist() == [5, 7]
