//! The answer of a turn as it grows out of the model's stream: text deltas, whole messages, and retries that begin
//! a message anew.
//!
//! Pure: events in, changes of one artifact out.

/// What a reader of the answer must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Add this.
    Append(String),
    /// Forget all and take this.
    Replace(String),
}

/// Between two messages of the model, as before and after a tool.
const BETWEEN: &str = "\n\n";

/// All that the model said to the user in a turn.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Messages that are over.
    settled: String,
    current: Current,
    /// Whether readers have been told of something.
    told: bool,
}

/// The message that is being said.
#[derive(Debug, Default)]
struct Current {
    id: String,
    /// Its text as told to readers.
    said: String,
    /// How much of it is known to stay: only what was also sent whole.
    kept: usize,
}

impl Answer {
    /// A message begins. What was streamed before it and never sent whole was broken off, and is said again.
    pub(super) fn begin(&mut self, id: &str) -> Option<Change> {
        let change = self.discard();
        self.settle(id);
        change
    }

    /// More of the current message.
    pub(super) fn delta(&mut self, text: &str) -> Option<Change> {
        if text.is_empty() {
            return None;
        }
        let joint = if self.current.said.is_empty() { self.joint() } else { "" };
        self.current.said.push_str(text);
        self.told = true;
        Some(Change::Append(format!("{joint}{text}")))
    }

    /// A text block of a message, whole: it was streamed, or the stream broke and this is all there is.
    pub(super) fn whole(&mut self, id: &str, text: &str) -> Option<Change> {
        let lost = if id == self.current.id { None } else { self.begin(id) };
        let Current { said, kept, .. } = &mut self.current;
        let pending = &said[*kept..];
        if pending.starts_with(text) {
            *kept += text.len();
            return lost;
        }
        if let Some(more) = text.strip_prefix(pending) {
            *kept += text.len();
            // What is missing comes after what was said.
            let more = more.to_owned();
            let change = self.delta(&more);
            return if lost.is_some() { Some(Change::Replace(self.text())) } else { change };
        }
        said.truncate(*kept);
        said.push_str(text);
        *kept = said.len();
        self.told = true;
        Some(Change::Replace(self.text()))
    }

    /// The stream broke: what was not sent whole will be said again.
    pub(super) fn discard(&mut self) -> Option<Change> {
        let Current { said, kept, .. } = &mut self.current;
        let lost = said.len() > *kept;
        said.truncate(*kept);
        lost.then(|| Change::Replace(self.text()))
    }

    /// All of it.
    pub(super) fn text(&self) -> String {
        let joint = if self.current.said.is_empty() { "" } else { self.joint() };
        format!("{}{joint}{}", self.settled, self.current.said)
    }

    /// Whether readers have been told of something.
    pub(super) const fn is_told(&self) -> bool {
        self.told
    }

    fn settle(&mut self, id: &str) {
        self.settled = self.text();
        self.current = Current { id: id.to_owned(), ..Current::default() };
    }

    /// What stands between the messages that are over and the current one.
    fn joint(&self) -> &'static str {
        if self.settled.is_empty() { "" } else { BETWEEN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader holds after some changes.
    #[derive(Default)]
    struct Reader(String);

    impl Reader {
        fn hear(&mut self, change: Option<Change>) {
            match change {
                Some(Change::Append(text)) => self.0.push_str(&text),
                Some(Change::Replace(text)) => self.0 = text,
                None => {}
            }
        }
    }

    #[test]
    fn deltas_make_the_answer_and_the_whole_message_adds_nothing() {
        let (mut answer, mut reader) = (Answer::default(), Reader::default());
        reader.hear(answer.begin("a"));
        reader.hear(answer.delta("Hel"));
        reader.hear(answer.delta("lo"));
        assert_eq!(answer.whole("a", "Hello"), None);
        reader.hear(answer.begin("b"));
        reader.hear(answer.delta("again"));
        assert_eq!(answer.whole("b", "again"), None);
        assert_eq!((reader.0.as_str(), answer.text().as_str()), ("Hello\n\nagain", "Hello\n\nagain"));
    }

    #[test]
    fn a_retry_replaces_what_was_said_since_the_last_whole_message() {
        let (mut answer, mut reader) = (Answer::default(), Reader::default());
        reader.hear(answer.begin("a"));
        reader.hear(answer.delta("kept"));
        reader.hear(answer.whole("a", "kept"));
        reader.hear(answer.begin("b"));
        reader.hear(answer.delta("bro"));
        assert_eq!(answer.discard(), Some(Change::Replace("kept".into())));
        reader.hear(answer.begin("c"));
        reader.hear(answer.delta("brok"));
        reader.hear(answer.begin("d"));
        reader.hear(answer.delta("whole"));
        reader.hear(answer.whole("d", "whole"));
        assert_eq!((reader.0.as_str(), answer.text().as_str()), ("kept\n\nwhole", "kept\n\nwhole"));
    }

    #[test]
    fn a_message_that_was_never_streamed_is_taken_whole() {
        let (mut answer, mut reader) = (Answer::default(), Reader::default());
        reader.hear(answer.begin("a"));
        reader.hear(answer.delta("ECHO: D"));
        reader.hear(answer.whole("b", "ECHO: DROP"));
        assert_eq!((reader.0.as_str(), answer.text().as_str()), ("ECHO: DROP", "ECHO: DROP"));
    }

    #[test]
    fn blocks_of_one_message_come_one_by_one() {
        let (mut answer, mut reader) = (Answer::default(), Reader::default());
        reader.hear(answer.begin("a"));
        reader.hear(answer.delta("one "));
        reader.hear(answer.whole("a", "one "));
        reader.hear(answer.delta("two"));
        reader.hear(answer.whole("a", "two"));
        reader.hear(answer.whole("a", " three"));
        assert_eq!((reader.0.as_str(), answer.text().as_str()), ("one two three", "one two three"));
    }

    #[test]
    fn a_whole_message_that_differs_from_its_stream_wins() {
        let (mut answer, mut reader) = (Answer::default(), Reader::default());
        reader.hear(answer.begin("a"));
        reader.hear(answer.delta("some"));
        reader.hear(answer.whole("a", "other"));
        assert_eq!((reader.0.as_str(), answer.text().as_str()), ("other", "other"));
    }
}
