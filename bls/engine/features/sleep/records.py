"""The time for which jobs wait for their hosts to boot, in the table of jobs and in words."""

from traces.records.events import StartDelay

BOOTS = StartDelay("boot_wait_ns", "boot", "hosts to boot")
