from .results import read as read, report as report
from .sweep import study as study, sweep as sweep
from .tables import table as table
