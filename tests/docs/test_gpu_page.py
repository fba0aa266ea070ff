"""The page on loops shared by cores and GPUs shows what runs give."""

import numpy as np
import pytest
from pages import ROOT, section, table

from als.application import ApplicationSimulator
from als.techniques import technique
from als.workers import with_devices
from bridge.scenarios.application_map import load_application_map
from bridge.studies.input.study_file import load_study

PAGE, STUDIES = ROOT / "docs/explanation/gpu-study.md", ROOT / "tools/studies"
LOOPS = {row[0].strip("`"): row[1:] for row in table(section(PAGE, "One loop"))}


@pytest.mark.parametrize("name", LOOPS)
def test_the_run_times_of_a_loop(name: str) -> None:
    program = load_application_map(STUDIES / "devices-shared.toml").applications[0].program
    speed, workers = with_devices(program.workers, np.ones(64))
    found = []
    for seed in range(50):
        lengths = np.random.default_rng(seed).gamma(4, 1, 256)
        lengths *= 956.0 * (64 + program.capacity(0)[1]) / lengths.sum()
        application = ApplicationSimulator(
            lengths, speed, technique(name), workers=workers, keep_tasks=False, seed=seed
        )
        application.advance()
        found.append(application.end_ns / 956e9)
    half = 1.96 * np.std(found, ddof=1) / 50**0.5
    assert LOOPS[name][0] == f"{np.mean(found):.2f} ± {half:.2f}"


def test_the_studies_can_be_run() -> None:
    assert len(load_study(STUDIES / "devices.toml", []).cells) == 12
    allocated = load_study(STUDIES / "devices-allocated.toml", [])
    assert [row[0].strip("`") for row in table(section(PAGE, "GPUs of the batch level"))] == ["static", "awf-c", "af"]
    assert len(allocated.cells) == 3
