"""Claude Code from npm as an agent, its model played by the mock: what callers see of it, and what is left of it."""
import os
import subprocess
import time
from functools import cache

from harness import (MARK, PATIENCE, SCRATCH, Missing, Model, Node, Stream, answer_of, check, equal, free_port,
                     in_background, marked, message, nothing_left, state_of, test, text_of, until)

GRACE = 2

CONFIG = f"""
default_agent = "claude"

[limits]
tasks_per_principal = 16

[defaults]
grace = "{GRACE}s"
share_workspace = true
concurrency = 4

[agents.claude]
runtime = "claude"
command = ["PROGRAM"]
env = {{ {MARK} = "MARK" }}

[agents.free]
runtime = "claude"
command = ["PROGRAM"]
env = {{ {MARK} = "MARK" }}
permissions = "all"
accept_risk = "unconfined"
"""


@cache
def model():
    return Model()


def new_node(port=0, **env):
    program = os.environ.get("INTEROP_CLAUDE")
    if not program:
        raise Missing("Claude Code could not be installed from npm")
    settings = SCRATCH / "claude-config"
    settings.mkdir(exist_ok=True)
    config = CONFIG.replace("PROGRAM", program)
    env = {"ANTHROPIC_BASE_URL": model().url, "ANTHROPIC_API_KEY": "sk-ant-mock-key-of-the-tests",
           "CLAUDE_CONFIG_DIR": str(settings), **env}
    return Node(config, port=port, **{name: value for name, value in env.items() if value})


@cache
def node():
    return new_node()


def send(text, agent="claude", on=None, **more):
    return (on or node()).call("SendMessage", message(text, **more), agent=agent)["task"]


def stream(text, agent="claude", on=None, **more) -> Stream:
    return (on or node()).stream("SendStreamingMessage", message(text, **more), agent=agent)


def get(task, agent="claude", on=None):
    return (on or node()).call("GetTask", {"id": task["id"]}, agent=agent)


def failure(task):
    return task["status"]["message"]["metadata"]["a2ad/failure"] if "metadata" in task["status"].get("message", {}) \
        else task["metadata"]["a2ad/failure"]


def heard(events):
    """A stream to its end: its events by kind, and the answer as a reader has it then."""
    kinds, artifacts, final = [], {}, None
    for event in events:
        (kind, body), = event.items()
        kinds.append(kind)
        if kind == "artifactUpdate":
            artifact = body["artifact"]
            before = artifacts.get(artifact["artifactId"], "") if body.get("append") else ""
            artifacts[artifact["artifactId"]] = before + text_of(artifact)
        elif kind == "statusUpdate":
            final = body
    return kinds, "".join(artifacts.values()), final


def first_chunk(events):
    """Reads a stream up to its first piece of text; the task and that piece."""
    task = None
    for event in events:
        task = event.get("task", task)
        if "artifactUpdate" in event:
            return task, text_of(event["artifactUpdate"]["artifact"])
    raise AssertionError("the stream ended without text")


@test
def text_comes_as_chunks_that_are_appended():
    kinds, answer, final = heard(stream("SLOW and steady"))
    equal(kinds[0], "task")
    check(kinds.count("artifactUpdate") >= 5, "hardly streamed:", kinds)
    equal(final["status"]["state"], "TASK_STATE_COMPLETED")
    task = get({"id": final["taskId"]})
    equal(answer_of(task), answer)
    check("slow" in answer.lower(), answer)


@test
def the_final_status_tells_use_and_cost():
    kinds, _, final = heard(stream("what does it cost"))
    usage = final["metadata"]["a2ad/usage"]
    check(usage["inputTokens"] > 0 and usage["outputTokens"] > 0 and usage["costUsd"] > 0, usage)
    task = get({"id": final["taskId"]})
    equal(task["metadata"]["a2ad/usage"], usage)


@test
def a_second_message_of_the_context_resumes_the_conversation():
    first = send("remember the word zebra")
    second = send("and what was it", contextId=first["contextId"])
    equal(state_of(second), "COMPLETED")
    body = model().bodies()[-1]["body"]
    check("remember the word zebra" in str(body["messages"]), "the model was not told of the first turn")
    one, two = first["metadata"]["a2ad/usage"], second["metadata"]["a2ad/usage"]
    check(two["costUsd"] < one["costUsd"] * 1.9, "the cost of the first turn was counted twice:", one, two)


@test
def another_context_is_another_conversation():
    send("remember the word giraffe")
    send("what did others say")
    check("giraffe" not in str(model().bodies()[-1]["body"]["messages"]), "a conversation leaked")


@test
def a_tool_that_needs_permission_is_denied_told_and_counted():
    path = node().work / "denied.txt"
    task = send(f"TOOL {path}")
    equal(state_of(task), "COMPLETED")
    check(not path.exists(), "the tool ran")
    equal(task["metadata"]["a2ad/permissionDenials"], 1)
    told = str(model().bodies()[-1]["body"]["messages"])
    check("nobody can be asked for permission" in told, "the model was not told why")


@test
def a_tool_is_run_where_everything_is_permitted():
    path = node().work / "made.txt"
    task = send(f"TOOL {path}", agent="free")
    equal((state_of(task), path.exists()), ("COMPLETED", True))
    check("a2ad/permissionDenials" not in task["metadata"], task["metadata"])


@test
def a_question_of_the_model_is_answered_that_nobody_is_there():
    task = send("ASK me something")
    equal(state_of(task), "COMPLETED")
    equal(task["metadata"]["a2ad/permissionDenials"], 1)
    told = str(model().bodies()[-1]["body"]["messages"])
    check("Nobody can answer while this turn runs" in told, "the model was not told")


@test
def a_cancel_in_the_middle_of_the_stream_leaves_nothing():
    own = new_node()
    events = stream("SLOW to be cancelled", on=own)
    task, _ = first_chunk(events)
    check(marked(own.mark), "no process carries the mark")
    began = time.monotonic()
    done = own.call("CancelTask", {"id": task["id"]}, agent="claude")
    took = time.monotonic() - began
    equal(state_of(done), "CANCELED")
    nothing_left(own.mark)
    check(took < GRACE + 2, f"it took {took:.1f} s")
    _, _, final = heard(events)
    equal(final["status"]["state"], "TASK_STATE_CANCELED")


@test
def a_cancel_ends_the_commands_of_the_tools_too():
    own = new_node()
    with in_background(lambda: send("SHELL: setsid sleep 301 & sleep 300", agent="free", on=own)) as box:
        until("the command runs", lambda: any("sleep 30" in line.replace("\0", " ") and "bash" not in line
                                              for line in marked(own.mark).values()))
        task, = own.call("ListTasks", {}, agent="free")["tasks"]
        done = own.call("CancelTask", {"id": task["id"]}, agent="free")
        equal(state_of(done), "CANCELED")
        nothing_left(own.mark)
    equal(state_of(box["value"]), "CANCELED")


@test
def a_cancel_before_the_model_says_a_word_leaves_nothing():
    own = new_node()
    with in_background(lambda: send("HANG", on=own)) as box:
        until("the model was asked", lambda: any("HANG" in str(each["body"].get("messages"))
                                                 for each in model().bodies()[-1:]))
        task, = own.call("ListTasks", {}, agent="claude")["tasks"]
        began = time.monotonic()
        equal(state_of(own.call("CancelTask", {"id": task["id"]}, agent="claude")), "CANCELED")
        check(time.monotonic() - began < GRACE + 2, "it took longer than grace + 2 s")
        nothing_left(own.mark)
    equal(state_of(box["value"]), "CANCELED")


def killed_in_the_middle(text, agent, runs):
    """Kills the node while a task runs and starts it again; the node and the task as it then is."""
    own = new_node()
    before = send("remember the word okapi", agent=agent, on=own)
    events = stream(text, agent=agent, on=own, contextId=before["contextId"])
    task, piece = first_chunk(events)
    until("it is at work", lambda: any(runs in line for line in marked(own.mark).values()))
    own.kill()
    own.start()
    nothing_left(own.mark, PATIENCE)
    return own, task, piece


def truthful(own, agent, task, piece):
    now = get(task, agent=agent, on=own)
    equal(state_of(now), "FAILED")
    equal(now["metadata"]["a2ad/failure"]["class"], "interrupted")
    check("restart" in text_of(now["status"]["message"]), now["status"])
    check(answer_of(now).startswith(piece), "what was streamed is lost:", piece, answer_of(now))
    after = send("and what was it", agent=agent, on=own, contextId=task["contextId"])
    equal(state_of(after), "COMPLETED")
    check("okapi" in str(model().bodies()[-1]["body"]["messages"]), "the conversation was not resumed")


@test
def the_node_is_killed_in_the_middle_of_a_stream_and_tells_the_truth_after():
    own, task, piece = killed_in_the_middle("SLOW until the end", "claude", "stream-json")
    truthful(own, "claude", task, piece)


@test
def the_node_is_killed_while_a_tool_runs_and_nothing_of_it_is_left():
    own, task, piece = killed_in_the_middle("SHELL: setsid sleep 303 & sleep 302", "free", "sleep 302")
    truthful(own, "free", task, piece)


@test
def a_caller_on_the_command_line_lives_through_the_death_of_the_node():
    own = new_node(free_port())
    caller = subprocess.Popen(own.command("send", "SLOW for a caller"), env=own.env, cwd=own.work, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    head = caller.stdout.read(6)
    own.kill()
    own.start()
    rest, told = caller.communicate(timeout=PATIENCE)
    equal((head, caller.returncode), ("slow00", 1))
    check("restart" in told, "it was not told why:", told)


@test
def a_stop_of_the_node_ends_the_turn_and_says_so():
    own = new_node(A2AD_NODE__DRAIN_TIMEOUT="1s")
    before = send("remember the word okapi", agent="free", on=own)
    events = stream("SHELL: setsid sleep 305 & sleep 304", agent="free", on=own, contextId=before["contextId"])
    task, piece = first_chunk(events)
    until("the command runs", lambda: any("sleep 304" in line for line in marked(own.mark).values()))
    equal(own.stop(), 0)
    nothing_left(own.mark)
    own.start()
    now = get(task, agent="free", on=own)
    equal((state_of(now), now["metadata"]["a2ad/failure"]["class"]), ("FAILED", "interrupted"))
    check("shutdown" in text_of(now["status"]["message"]), now["status"])
    check(answer_of(now).startswith(piece), answer_of(now))
    after = send("and what was it", agent="free", on=own, contextId=task["contextId"])
    equal(state_of(after), "COMPLETED")
    check("okapi" in str(model().bodies()[-1]["body"]["messages"]), "the conversation was not resumed")


def shell(command, own):
    """What a command of the model's shell says, as the model is told."""
    equal(state_of(send(f"SHELL: {command}; echo the-end", agent="free", on=own)), "COMPLETED")
    results = [block for said in model().bodies()[-1]["body"]["messages"] if isinstance(said["content"], list)
               for block in said["content"] if block["type"] == "tool_result"]
    told = str(results[-1]["content"])
    check("the-end" in told, told)
    return told


@test
def the_shell_of_the_model_sees_nothing_of_the_node():
    own = new_node(SECRET_OF_THE_SHELL_THAT_STARTED_THE_NODE="hush", CLAUDE_CODE_ENTRYPOINT="cli")
    told = shell("env", own)
    check(own.mark in told, "the configured variable is not there:", told)
    check("hush" not in told and "ENTRYPOINT=cli" not in told, told)
    secret = (own.state / "token").read_text().strip()
    told = shell(f"cat {own.state}/token; ls -la {own.state}; head -c 100 {own.state}/node.db", own)
    check(secret not in told and "SQLite" not in told and "node.lock" not in told, told)
    told = shell(f"cat /proc/{own.process.pid}/environ; ls -l /proc/{own.process.pid}/fd", own)
    check("hush" not in told and "node.db" not in told, told)


@test
def a_missing_login_is_auth_required_and_the_task_goes_on_after_it():
    task = send("FAIL401 first")
    equal(state_of(task), "AUTH_REQUIRED")
    check("/login" in text_of(task["status"]["message"]), task["status"])
    again = send("now it works", taskId=task["id"])
    equal(state_of(again), "COMPLETED")


@test
def without_any_key_a_task_is_auth_required():
    own = new_node(ANTHROPIC_API_KEY=None, CLAUDE_CONFIG_DIR=str(SCRATCH / "nobody"))
    task = send("hello", on=own)
    equal(state_of(task), "AUTH_REQUIRED")


def fails(text, kind, status, retryable):
    task = send(text)
    equal(state_of(task), "FAILED")
    told = task["metadata"]["a2ad/failure"]
    equal((told["class"], told.get("httpStatus"), told.get("retryable")), (kind, status, retryable))
    check(text_of(task["status"]["message"]), "no reason was given")
    equal(state_of(send("still fine")), "COMPLETED")


@test
def too_many_requests_are_a_failure_by_rate():
    fails("FAIL429", "rate_limit", 429, True)


@test
def a_fault_of_the_service_is_a_failure_of_the_model():
    fails("FAIL", "model", 500, True)


@test
def a_refused_request_is_a_failure_that_cannot_be_retried():
    fails("FAIL400", "model", 400, False)


@test
def a_forbidden_model_is_a_failure_of_the_login():
    fails("FAIL403", "login", 403, False)


@test
def the_limit_of_output_is_a_failure_by_limit():
    task = send("MAXTOK")
    equal((state_of(task), task["metadata"]["a2ad/failure"]["class"]), ("FAILED", "limit"))
    check(answer_of(task), "the partial answer is lost")


@test
def a_broken_connection_is_retried_and_the_answer_is_whole():
    kinds, answer, final = heard(stream("DROP it once"))
    task = get({"id": final["taskId"]})
    equal(state_of(task), "COMPLETED")
    equal(answer_of(task), answer)
    equal(answer, "ECHO: DROP it once")


@test
def a_prompt_of_200_kilobytes_arrives_whole():
    task = send("x" * 200_000 + " end of it")
    equal(state_of(task), "COMPLETED")
    check("end of it" in str(model().bodies()[-1]["body"]["messages"])[-400_000:], "the prompt was cut")


@test
def an_answer_of_a_megabyte_arrives_whole():
    task = send("BIG:1000000")
    equal(state_of(task), "COMPLETED")
    check(len(answer_of(task)) >= 1_000_000, len(answer_of(task)))


@test
def a_message_to_a_running_turn_is_taken_at_its_end():
    events = stream("SLOW first")
    task, _ = first_chunk(events)
    second = send("second of all", taskId=task["id"])
    equal(state_of(second), "COMPLETED")
    check("second of all" in answer_of(second), answer_of(second))
    _, answer, _ = heard(events)
    check("second of all" in answer, "the stream ended before the second turn")


@test
def the_key_is_in_no_log_and_no_answer():
    check(b"sk-ant-mock" not in node().log.read_bytes(), "the key is in the log")
    nothing_left(node().mark, PATIENCE)
