//! The agents of the node that dies: scripts that tell much, little, nothing, or ask.

/// Two at once, the others wait: writes a few lines and leaves a program behind now and then.
pub(crate) const SHELL: &str = r#"
read -r line
echo "heard $line"
case $line in *litter*) sleep 600 & ;; esac
sleep 0.02
echo done
"#;

/// Never ends by itself; neither do those that it starts, one of them in a session of its own.
pub(crate) const HANG: &str = r#"
echo begun
sleep 600 &
setsid sleep 600 &
sleep 600
"#;

/// `jsonl`: an artifact of twenty pieces, or a question and then the artifact.
pub(crate) const LINES: &str = r#"
state() { echo '{"statusUpdate":{"status":{"state":"TASK_STATE_'"$1"'"}}}'; }
while IFS= read -r line; do
  case $line in
  *'"type":"cancel"'*) state CANCELED; exit 0 ;;
  *'"text":"answer"'*|*'"text":"tell"'*)
    n=0
    while [ $n -lt 20 ]; do
      echo '{"artifactUpdate":{"append":true,"artifact":{"artifactId":"a","parts":[{"text":"'$n'"}]}}}'
      n=$((n + 1))
      case $n in 5|10|15) sleep 0.01 ;; esac
    done
    state COMPLETED ;;
  *) state INPUT_REQUIRED ;;
  esac
done
"#;

/// `jsonl` with bare messages.
pub(crate) const BARE: &str = r#"
read -r line
echo '{"session":"s"}'
sleep 0.01
echo '{"message":{"parts":[{"text":"bare"}]}}'
read -r line
"#;

/// The configuration; each agent's environment bears the mark.
pub(crate) fn config(port: u16, mark: &str, work: &str) -> String {
    let script = |name: &str, runtime: &str, concurrency: u32, more: &str| {
        format!(
            r#"
[agents.{name}]
runtime = "{runtime}"
command = ["/bin/sh", "{work}/../{name}.sh"]
workspace = "{work}"
share_workspace = true
concurrency = {concurrency}
grace = "1s"
env = {{ {MARK} = "{mark}" }}
{more}
"#
        )
    };
    let agents = [
        script("shell", "exec", 2, ""),
        script("hang", "exec", 0, ""),
        script("lines", "jsonl", 0, ""),
        script("bare", "jsonl", 0, "replies = \"message\""),
    ];
    format!(
        r#"[node]
listen = ["127.0.0.1:{port}"]
default_agent = "echo"
drain_timeout = "30s"

[limits]
connections_per_address = 0
requests_per_minute = 0
running_tasks = 0
tasks_per_principal = 0
queued_tasks = 0
queued_per_principal = 0
streams_per_principal = 0

[store]
min_free = "0"

[agents.echo]
runtime = "echo"
concurrency = 0
{}"#,
        agents.concat()
    )
}

/// The variable that every program of these agents has.
pub(crate) const MARK: &str = "CRASH_MARK";
