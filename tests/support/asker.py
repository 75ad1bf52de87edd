#!/usr/bin/env python3
"""A small agent of the runtime `jsonl`, for tests. Speaks one JSON object a line and does what its message says:

  ask          asks "Which colour?" (INPUT_REQUIRED); the next message of the task is the answer
  login        asks for a login (AUTH_REQUIRED); the next message of the task completes it
  count N S    N chunks of one artifact, S seconds apart
  wait         works until it is cancelled
  deaf         works, and does not hear that it is cancelled
  reject       REJECTED
  fail         FAILED
  crash        prints to stderr and exits with 3
  history      answers with what it was sent: texts of the history, and whether a session was kept
  (anything)   one artifact with the text, then COMPLETED
"""
import json
import signal
import sys
import threading
import time

LOCK = threading.Lock()


def say(member, value):
    with LOCK:
        print(json.dumps({member: value}), flush=True)


def status(state, text=None):
    update = {"state": "TASK_STATE_" + state}
    if text is not None:
        update["message"] = {"parts": [{"text": text}]}
    say("statusUpdate", {"status": update})


def chunk(text, append=False, last=True):
    say("artifactUpdate", {
        "artifact": {"artifactId": "out", "name": "out", "parts": [{"text": text}]},
        "append": append,
        "lastChunk": last,
    })


def text_of(message):
    return "".join(part.get("text", "") for part in message["parts"])


def count(number, pause):
    for n in range(1, number + 1):
        chunk(f"{n} ", append=n > 1, last=n == number)
        if n < number:
            time.sleep(pause)
    status("COMPLETED")


def turn(line):
    text = text_of(line["message"])
    word, *rest = text.split() or [""]
    if line["state"] == "TASK_STATE_INPUT_REQUIRED":
        chunk("the colour is " + text)
        status("COMPLETED", "thank you")
    elif line["state"] == "TASK_STATE_AUTH_REQUIRED":
        status("COMPLETED", "logged in")
    elif word == "ask":
        status("INPUT_REQUIRED", "Which colour?")
    elif word == "login":
        status("AUTH_REQUIRED", "Log in first.")
    elif word == "count":
        threading.Thread(target=count, args=(int(rest[0]), float(rest[1])), daemon=True).start()
    elif word == "wait":
        status("WORKING", "waiting")
    elif word == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        status("WORKING", "deaf")
    elif word == "reject":
        status("REJECTED", "not this")
    elif word == "fail":
        status("FAILED", "it went wrong")
    elif word == "crash":
        print("asker: a fault on purpose", file=sys.stderr, flush=True)
        sys.exit(3)
    elif word == "history":
        say("session", "kept")
        chunk(json.dumps({"history": [text_of(m) for m in line["history"]], "session": line["session"]}))
        status("COMPLETED")
    else:
        chunk(text)
        status("COMPLETED")


def main():
    deaf = False
    for raw in sys.stdin:
        line = json.loads(raw)
        if line["type"] == "message":
            deaf = text_of(line["message"]) == "deaf"
            turn(line)
        elif line["type"] == "cancel" and not deaf:
            status("CANCELED", "stopped: " + line["reason"])
    while deaf:
        time.sleep(1)


main()
