"""The command line as its caller sees it: what is on stdout, what is not, and how it ends."""
import json
import signal
import subprocess
import sys
from functools import cache

import claude_code
from harness import A2AD, MARK, PATIENCE, SUPPORT, Node, check, equal, nothing_left, test, until

CONFIG = f"""
default_agent = "asker"

[defaults]
grace = "2s"
share_workspace = true
concurrency = 4

[agents.asker]
runtime = "jsonl"
command = ["{sys.executable}", "{SUPPORT / "asker.py"}"]
env = {{ {MARK} = "MARK" }}

[agents.echo]
runtime = "echo"

[agents.upper]
runtime = "exec"
command = ["tr", "a-z", "A-Z"]

[agents.absent]
runtime = "exec"
command = ["a-program-that-nobody-has"]
"""


@cache
def node():
    return Node(CONFIG)


def sent(*args, status=0, **how):
    return node().a2ad("send", *args, status=status, **how)


@test
def a_piped_send_prints_the_answer_and_nothing_else():
    done = sent("-a", "echo", "hello there")
    equal((done.stdout.rstrip("\n"), done.stderr), ("hello there", ""))


@test
def a_prompt_comes_from_stdin():
    equal(sent("-a", "upper", "-", stdin="from a pipe").stdout.rstrip("\n"), "FROM A PIPE")


@test
def claude_code_answers_a_piped_send_with_the_answer_only():
    done = claude_code.node().a2ad("send", "-a", "claude", "hello claude")
    equal((done.stdout.strip(), done.stderr), ("ECHO: hello claude", ""))


@test
def a_chunked_answer_is_whole_on_stdout():
    equal(sent("count 5 0.05").stdout.rstrip("\n"), "1 2 3 4 5 ")


@test
def a_failed_task_ends_with_1_and_says_why():
    for text, why in [("fail", "it went wrong"), ("reject", "not this"), ("crash", "a fault on purpose")]:
        done = sent(text, status=1)
        check(why in done.stderr, text, done.stderr)
        equal(done.stdout, "")


@test
def a_program_that_is_not_there_is_said_with_what_to_do():
    done = sent("-a", "absent", "x", status=1)
    check("a-program-that-nobody-has" in done.stderr, done.stderr)
    check("not found" in done.stderr or "not ready" in done.stderr, done.stderr)


@test
def a_question_ends_with_4_and_is_answered_with_the_task():
    done = sent("ask", status=4)
    check("Which colour?" in done.stdout + done.stderr, done)
    task = json.loads(node().a2ad("--json", "task", "list", "--state", "input-required", "--limit", "1").stdout.splitlines()[0])
    done = sent("-t", task["id"], "green")
    check("the colour is green" in done.stdout, done)


@test
def a_missing_login_ends_with_4():
    done = sent("login", status=4)
    check("Log in first." in done.stdout + done.stderr, done)


@test
def no_wait_prints_the_task_and_nothing_else():
    done = sent("--no-wait", "-a", "echo", "later")
    task = done.stdout.strip()
    equal(len(task.split()), 1)
    show = until("it is done", lambda: json.loads(node().a2ad("--json", "task", "show", task).stdout))
    equal(show["task"]["id"], task)


@test
def a_cancel_by_somebody_else_ends_with_3():
    waiting = subprocess.Popen(node().command("send", "wait"), env=node().env, cwd=node().work, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    task = until("it runs", lambda: node().a2ad("--json", "task", "list", "--state", "working").stdout.strip())
    node().a2ad("task", "cancel", json.loads(task.splitlines()[0])["id"])
    waiting.communicate(timeout=PATIENCE)
    equal(waiting.returncode, 3)


@test
def ctrl_c_cancels_the_task_and_ends_by_sigint():
    waiting = subprocess.Popen(node().command("send", "wait"), env=node().env, cwd=node().work, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    task = json.loads(until("it runs", lambda: node().a2ad("--json", "task", "list", "--state", "working").stdout.strip())
                      .splitlines()[0])["id"]
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=PATIENCE)
    equal(waiting.returncode, -signal.SIGINT)
    show = json.loads(node().a2ad("--json", "task", "show", task).stdout)
    equal(show["task"]["status"]["state"], "TASK_STATE_CANCELED")


@test
def a_term_detaches_and_the_task_goes_on():
    waiting = subprocess.Popen(node().command("send", "count 3 1"), env=node().env, cwd=node().work, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    task = json.loads(until("it runs", lambda: node().a2ad("--json", "task", "list", "--state", "working").stdout.strip())
                      .splitlines()[0])["id"]
    waiting.send_signal(signal.SIGTERM)
    waiting.communicate(timeout=PATIENCE)
    done = node().a2ad("task", "watch", task)
    check("3" in done.stdout, done)


@test
def a_limit_of_time_ends_with_75_and_leaves_the_task_alone():
    sent("--timeout", "500ms", "count 3 1", status=75)


@test
def a_node_that_is_not_there_ends_with_69():
    done = node().a2ad("--to", "http://127.0.0.1:9", "send", "x", status=69)
    check("127.0.0.1:9" in done.stderr, done.stderr)


@test
def a_token_that_is_not_known_ends_with_77():
    secret = node().dir / "bad.token"
    secret.write_text("a2ad_nonsense\n")
    secret.chmod(0o600)
    node().a2ad("--to", node().url, "--token-file", str(secret), "send", "x", status=77)


@test
def a_wrong_use_ends_with_2_and_a_wrong_configuration_with_78():
    node().a2ad("send", "--no-such-flag", "x", status=2)
    bad = node().dir / "bad.toml"
    bad.write_text("[node]\nlisten_on = 3\n")
    done = subprocess.run([A2AD, "--config", str(bad), "check"], env=node().env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE)
    equal(done.returncode, 78)
    check("listen_on" in done.stdout + done.stderr, done)


@test
def another_machine_needs_only_the_address_and_a_token():
    secret = node().dir / "desk.token"
    secret.write_text(node().token + "\n")
    secret.chmod(0o600)
    done = node().a2ad("--to", node().url + "/agents/echo", "--token-file", str(secret), "send", "from afar")
    equal(done.stdout.rstrip("\n"), "from afar")


@test
def the_state_of_the_node_is_told():
    check("asker" in node().a2ad("status").stdout, "status")
    check("a-program-that-nobody-has" in node().a2ad("agent", "show", "absent").stdout, "agent show")
    node().a2ad("doctor", status=1)
    node().a2ad("health")


@test
def no_program_of_an_ended_task_is_left():
    for state in ("working", "input-required", "auth-required"):
        for line in node().a2ad("--json", "task", "list", "--state", state, "--limit", "100").stdout.splitlines():
            node().a2ad("task", "cancel", json.loads(line)["id"])
    nothing_left(node().mark, PATIENCE)
