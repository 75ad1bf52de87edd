use super::super::config::RuntimeKind;
use super::super::testing::*;
use crate::model::Message;

#[tokio::test]
#[ignore]
async fn by_hand() {
    let shell = Shell::new("");
    let base = std::env::var("MOCK").unwrap();
    let mut session = None;
    for prompt in std::env::var("PROMPTS").unwrap().split('|') {
        let mut job = job(Message::user(prompt));
        job.session = session.clone();
        let stop = job.stop.clone();
        let mut run = shell.start(RuntimeKind::Claude, |agent| {
            agent.command = vec!["/work/cache/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude".into()];
            agent.env = vec![("ANTHROPIC_BASE_URL".into(), base.clone()), ("ANTHROPIC_API_KEY".into(), std::env::var("KEY").unwrap_or("mock-key-12345".into())), ("HOME".into(), shell.path().to_str().unwrap().into()), ("CLAUDE_CONFIG_DIR".into(), format!("{}/cfg", shell.path().to_str().unwrap()))];
            if std::env::var("ALL").is_ok() { agent.permissions = super::super::config::Permissions::All; agent.accept_risk = true; }
        }, job);
        let t = std::time::Instant::now();
        let mut n = 0;
        while let Some(step) = run.progress.recv().await {
            let mut line = format!("{step:?}"); line.truncate(700);
            eprintln!("{:?} {}", t.elapsed(), line);
            n += 1;
            if prompt.starts_with("SLOW") && n == 6 { stop.ask(super::super::Reason::Caller); }
            if prompt.starts_with("ECHO2") && n == 2 { run.answers.send(Message::user("and then")).await.unwrap(); }
            if let crate::model::Progress::Session(s) = step { session = Some(s); }
        }
        eprintln!("closed {:?}", t.elapsed());
    }
}
