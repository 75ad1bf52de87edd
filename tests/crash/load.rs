//! Callers that send, stream, ask, answer, cancel and look, until the node dies under them.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    chance::Chance,
    http::{Ask, Stream},
    ledger::Ledger,
    node::Node,
};

/// Only a failure waits so long.
const LONG: Duration = Duration::from_secs(60);

/// Callers at work.
pub(crate) struct Load(Vec<JoinHandle<()>>);

impl Load {
    pub(crate) fn begin(node: &Node, ledger: &Arc<Ledger>, chance: &mut Chance, callers: u64) -> Self {
        let callers = (0..callers).map(|_| {
            let chance = Chance::new(chance.next());
            let mut caller =
                Caller { addr: node.addr, token: node.token.clone(), ledger: ledger.clone(), chance };
            // A break is the node's death, which ends the caller; a wrong answer panics.
            std::thread::spawn(move || while caller.acts().is_ok() {})
        });
        Self(callers.collect())
    }

    /// Waits until so much more has been told, and then so long: machines are not equally fast.
    pub(crate) fn goes_on(&self, ledger: &Ledger, more: u64, then: Duration) {
        let until = ledger.book().times + more;
        let began = Instant::now();
        while ledger.book().times < until {
            assert!(began.elapsed() < LONG, "the node answers nobody");
            assert!(!self.0.iter().any(JoinHandle::is_finished), "a caller was left alone");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(then);
    }

    /// Waits until all have noticed that the node is dead.
    pub(crate) fn end(self) {
        for caller in self.0 {
            if let Err(why) = caller.join() {
                std::panic::resume_unwind(why);
            }
        }
    }
}

struct Caller {
    addr: SocketAddr,
    token: String,
    ledger: Arc<Ledger>,
    chance: Chance,
}

impl Caller {
    fn acts(&mut self) -> io::Result<()> {
        match self.chance.below(16) {
            0..=3 => self.sends("echo", "hello", false),
            4 => self.sends("shell", "work", false),
            5 => self.sends("shell", "litter", true),
            6 => self.sends("hang", "hang", true),
            7..=9 => self.streams("lines", "tell"),
            10 => self.streams("shell", "work"),
            11 => self.asks_and_answers(),
            12 => self.sends("bare", "say", false),
            13 => self.cancels(),
            14 => self.looks(),
            _ => self.repeats(),
        }
    }

    /// A send that can be repeated: by the id of its message, or by a key.
    fn message(&mut self, agent: &'static str, method: &'static str, text: &str, at_once: bool) -> Ask {
        let id = self.chance.uuid();
        let by_key = self.chance.below(2) == 0;
        let message_id = if by_key { format!("m-{id}") } else { id.clone() };
        self.ledger.book().ids.insert(message_id.clone());
        let params = json!({
            "message": { "messageId": message_id, "role": "ROLE_USER", "parts": [{ "text": text }] },
            "configuration": { "returnImmediately": at_once },
        });
        Ask { key: by_key.then_some(id), ..Ask::new(agent, method, params) }
    }

    fn ask(&self, ask: &Ask) -> io::Result<Value> {
        ask.send(self.addr, &self.token)
    }

    fn sends(&mut self, agent: &'static str, text: &str, at_once: bool) -> io::Result<()> {
        let ask = self.message(agent, "SendMessage", text, at_once);
        let answer = self.ask(&ask).inspect_err(|_| self.ledger.book().unanswered.push(ask.clone()))?;
        let mut book = self.ledger.book();
        if answer["result"].get("message").is_some() {
            book.messages.push((ask, answer["result"].clone()));
        } else {
            book.told(Some(&ask), agent, &answer["result"]["task"]);
        }
        Ok(())
    }

    fn streams(&mut self, agent: &'static str, text: &str) -> io::Result<()> {
        let ask = self.message(agent, "SendStreamingMessage", text, false);
        let opened = ask.stream(self.addr, &self.token);
        let stream = opened.inspect_err(|_| self.ledger.book().unanswered.push(ask.clone()))?;
        let mut stream = stream.unwrap_or_else(|error| panic!("refused: {error}"));
        self.read(&mut stream, Some(&ask), agent).map(drop)
    }

    /// Writes down what a stream tells, to its end.
    fn read(
        &self,
        stream: &mut Stream,
        ask: Option<&Ask>,
        agent: &'static str,
    ) -> io::Result<Option<String>> {
        let mut task = None;
        while let Some((seq, event)) = stream.next()? {
            let mut book = self.ledger.book();
            let id = match &task {
                Some(id) => id,
                None => task.insert(book.told(ask, agent, &event["task"])),
            };
            book.event(id, seq, &event);
        }
        Ok(task)
    }

    fn asks_and_answers(&mut self) -> io::Result<()> {
        let ask = self.message("lines", "SendStreamingMessage", "ask", false);
        let opened = ask.stream(self.addr, &self.token);
        let stream = opened.inspect_err(|_| self.ledger.book().unanswered.push(ask.clone()))?;
        let mut stream = stream.unwrap_or_else(|error| panic!("refused: {error}"));
        let Some(task) = self.read(&mut stream, Some(&ask), "lines")? else {
            panic!("a stream without a task");
        };
        let mut answer = self.message("lines", "SendMessage", "answer", false);
        answer.params["message"]["taskId"] = json!(task);
        let answered = self.ask(&answer)?;
        self.ledger.book().told(None, "lines", &answered["result"]["task"]);
        Ok(())
    }

    /// Some task that callers were told of.
    fn some(&mut self, wanted: impl Fn(&str) -> bool) -> Option<(String, &'static str, Option<Ask>)> {
        let book = self.ledger.book();
        let tasks: Vec<_> = book.tasks.iter().filter(|(_, known)| wanted(known.agent)).collect();
        let place = usize::try_from(self.chance.below(tasks.len().max(1) as u64)).unwrap();
        tasks.get(place).map(|(id, known)| ((*id).clone(), known.agent, known.send.clone()))
    }

    fn cancels(&mut self) -> io::Result<()> {
        let Some((id, agent, _)) = self.some(|agent| agent == "hang") else { return Ok(()) };
        let answer = self.ask(&Ask::new(agent, "CancelTask", json!({ "id": id })))?;
        if answer["error"]["code"] != -32002 {
            self.ledger.book().told(None, agent, &answer["result"]);
        }
        Ok(())
    }

    fn looks(&mut self) -> io::Result<()> {
        let Some((id, agent, _)) = self.some(|_| true) else { return Ok(()) };
        let answer = self.ask(&Ask::new(agent, "GetTask", json!({ "id": id })))?;
        self.ledger.book().told(None, agent, &answer["result"]);
        Ok(())
    }

    fn repeats(&mut self) -> io::Result<()> {
        // Not of the agents whose tasks may take for ever, or wait for an answer.
        let Some((id, agent, Some(ask))) = self.some(|agent| agent == "echo") else { return Ok(()) };
        let answer = self.ask(&ask)?;
        let mut book = self.ledger.book();
        assert_eq!(book.told(None, agent, &answer["result"]["task"]), id, "repeated: {ask:?}");
        book.joined += 1;
        Ok(())
    }
}
