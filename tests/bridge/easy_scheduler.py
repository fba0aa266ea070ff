"""EASY backfilling as a scheduler of one's own: the toy with another decision, on the lowest free cores.

Running jobs are planned with the ends that it receives, which their applications may have promised.

D. Lifka, "The ANL/IBM SP scheduling system", doi:10.1007/3-540-60153-8_35.
"""

from pathlib import Path

DECIDE = '''
def reservation(needed, free, running, now):
    """When this number of cores is free, as jobs are expected to end, and how many more there are then."""
    ends = sorted((max(end_ns, now + 1), cores) for end_ns, cores in running)
    for place, (end_ns, cores) in enumerate(ends):
        free += cores
        if free >= needed and (place + 1 == len(ends) or ends[place + 1][0] > end_ns):
            return end_ns, free - needed
    raise AssertionError("the machine is too small")


def decide():
    now, chosen = message["now_ns"], []
    expected = [(ends_of[job], len(cores)) for job, cores in running.items()]
    usable, shadow = sorted(free), None
    for job in sorted(waiting, key=lambda job: waiting[job]["first"]):
        needed, end_ns = waiting[job]["cores"], now + waiting[job]["estimate_ns"]
        if shadow is None and needed > len(usable):
            shadow, extra = reservation(needed, len(usable), expected, now)
            continue
        if needed > len(usable) or (shadow is not None and end_ns > shadow and needed > extra):
            continue
        if shadow is not None and end_ns > shadow:
            extra -= needed
        chosen.append({"job": job, "cores": column(usable[:needed])})
        usable = usable[needed:]
        ends_of[job] = end_ns
        expected.append((end_ns, needed))
    answer = {"start": chosen, "reject": [], "wake_ns": [], "scale": [], "end": [], "resize": [], "hint": []}
    send("decided", decision=message["decision"], **answer)


ends_of = {}
'''

TOY = Path(__file__).with_name("toy_scheduler.py")
NOTED = {
    '        running[job] = numbers(message["cores"])\n': '        ends_of[job] = message["expected_end_ns"]\n',
    '    elif kind == "released":\n': '    elif kind == "expected":\n        ends_of[job] = message["expected_end_ns"]\n',
}
head, _, rest = TOY.read_text(encoding="utf-8").partition("\ndef decide():")
_, _, tail = rest.partition("\n\n\n")
started, released = NOTED
assert tail.count(started) == tail.count(released) == 1
tail = tail.replace(started, started + NOTED[started]).replace(released, NOTED[released] + released)
exec(compile(f"{head}{DECIDE}\n{tail}", str(TOY), "exec"), {"__name__": "__main__"})
