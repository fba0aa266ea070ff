"""A scheduler that decides what a schedule says: ``replaying_scheduler.py SCHEDULE.json``; the toy with another decision.

The schedule has, by ``NUMBER/ATTEMPT`` of a job, the instant at which its start is decided and its cores, as half-open
intervals; and the instants at which the scheduler asks to decide. It fails if its books do not fit the messages.
"""

from pathlib import Path

DECIDE = """
def decide():
    now, chosen = message["now_ns"], []
    for job in sorted(waiting, key=lambda job: waiting[job]["first"]):
        decided_ns, intervals = plan.get(name_of[job], (-1, ()))
        if decided_ns == now:
            ends = [end for interval in intervals for end in interval]
            chosen.append({"job": job, "cores": struct.pack(f"<{len(ends)}i", *ends)})
    later = [instant for instant in wakes if instant > now]
    wake = [min(later)] if later else []
    assert message["woken"] == (now in asked), f"woken is {message['woken']}, and {now} was asked for: {now in asked}"
    asked.update(wake)
    answer = {"start": chosen, "reject": [], "wake_ns": wake, "scale": [], "end": [], "resize": [], "hint": []}
    send("decided", decision=message["decision"], **answer)


plan, wakes = json.loads(Path(sys.argv[1]).read_text())
name_of, asked, how_of, gpus_of = {}, set(), {}, {}
"""

TOY = Path(__file__).with_name("toy_scheduler.py")
head, _, rest = TOY.read_text(encoding="utf-8").partition("\ndef decide():")
_, _, tail = rest.partition("\n\n\n")
for old, new in {
    '        (held if message["eligible_ns"]': """\
        name_of[job] = f"{message['number']}/{message['attempt']}"
        assert message["units"] * message["unit_cores"] == message["cores"]
        gpus_of[name_of[job]] = [message["gpus"], None]
""",
    "        free -= running[job]": """\
        assert running[job] <= free
        gpus_of[name_of[job]][1] = struct.unpack(f"<{len(message['gpus']) // 4}i", message["gpus"])
""",
    '        running[job] -= numbers(message["cores"])': '        assert numbers(message["cores"]) < running[job]\n',
    '        running[job] |= numbers(message["cores"])': '        assert numbers(message["cores"]) <= free\n',
    "        free |= running.pop(job, set())": '        how_of[name_of[job]] = message["how"]\n',
    '    elif kind in ("refused", "quit"):': """\
    elif kind == "quit":
        Path(sys.argv[1]).with_suffix(".ends").write_text(json.dumps(how_of))  # every event was reported
        Path(sys.argv[1]).with_suffix(".gpus").write_text(json.dumps(gpus_of))
        raise SystemExit(1 if waiting or held or running else 0)
""",
}.items():
    assert tail.count(old) == 1, old
    tail = tail.replace(old, new + old)
exec(compile(f"import json\nimport sys\nfrom pathlib import Path\n{head}{DECIDE}\n{tail}", str(TOY), "exec"), {})
