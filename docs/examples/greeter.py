#!/usr/bin/env python3
"""An agent that asks for a name, remembers it for the conversation, and writes a letter."""
import json
import queue
import sys
import threading

orders = queue.Queue()


def read():
    """Stdin stays open for the whole task, so it is read line by line and beside the work."""
    for line in sys.stdin:
        orders.put(json.loads(line))
    orders.put({"type": "end"})


def say(**member):
    print(json.dumps(member), flush=True)


def status(state, text=None):
    update = {"state": f"TASK_STATE_{state}"}
    if text:
        update["message"] = {"parts": [{"text": text}]}
    say(statusUpdate={"status": update})


def canceled(seconds):
    """Works for a while, unless told to stop."""
    try:
        order = orders.get(timeout=seconds)
    except queue.Empty:
        return False
    if order["type"] != "cancel":
        orders.put(order)                       # a message that came meanwhile: left for the loop below
        return False
    status("CANCELED")
    return True


def write_letter(name):
    status("WORKING", f"writing to {name}")
    say(artifactUpdate={"artifact": {"name": "letter.txt", "parts": [{"text": f"Dear {name},\n"}]}})
    for line in ["the node runs.\n", "Yours, the greeter\n"]:
        if canceled(0.5):
            return
        say(artifactUpdate={"append": True, "artifact": {"parts": [{"text": line}]}})
    status("COMPLETED", f"A letter for {name} is written.")


def main():
    threading.Thread(target=read, daemon=True).start()
    while (order := orders.get())["type"] != "end":
        if order["type"] != "message":          # a cancel between turns, or a type of a later version
            continue
        name = order["session"]                 # what an earlier task of this context remembered
        if order["state"] == "TASK_STATE_INPUT_REQUIRED":
            name = " ".join(part["text"] for part in order["message"]["parts"] if "text" in part)
            say(session=name)
        if name:
            write_letter(name)
        else:
            status("INPUT_REQUIRED", "What is your name?")


main()
