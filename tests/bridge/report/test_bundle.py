"""The shipped assets equal the build of ``tools/page``."""

from pathlib import Path

from tools.build_page import ASSETS, build


def test_the_shipped_script_and_style_are_built_of_their_sources(tmp_path: Path) -> None:
    build(tmp_path)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert built == {path.name: path.read_bytes() for path in ASSETS.iterdir()}
