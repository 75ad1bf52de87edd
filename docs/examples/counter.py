#!/usr/bin/env python3
"""One process for many tasks (keep_alive = true): each counts, beside the others."""
import json
import sys
import threading
import time

stop = {}                                       # taskId -> set when its task is to end
out = threading.Lock()


def say(task, **member):
    with out:                                   # one line at a time
        print(json.dumps({"taskId": task, **member}), flush=True)


def count(task, most):
    for number in range(1, most + 1):
        if stop[task].is_set():
            break
        say(task, artifactUpdate={"append": True, "artifact": {"parts": [{"text": f"{number} "}]}})
        time.sleep(0.2)
    state = "CANCELED" if stop[task].is_set() else "COMPLETED"
    del stop[task]
    say(task, statusUpdate={"status": {"state": f"TASK_STATE_{state}"}})


for line in sys.stdin:
    order = json.loads(line)
    task = order["taskId"]
    if order["type"] == "message":
        text = "".join(part.get("text", "") for part in order["message"]["parts"])
        stop[task] = threading.Event()
        threading.Thread(target=count, args=(task, int(text) if text.isdigit() else 3), daemon=True).start()
    elif order["type"] == "cancel" and task in stop:
        stop[task].set()
