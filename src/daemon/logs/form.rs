//! How a record looks. It can change while spans are open, so these keep their fields in one form, JSON, and who writes a
//! record for a person reads them from there.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::{DefaultFields, Format, Json, JsonFields, Writer},
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

/// The looks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// One JSON object a line.
    Json = 0,
    /// For people, in a file.
    Plain = 1,
    /// For people, on a terminal.
    Colored = 2,
}

/// The look of the moment. Clones share it.
#[derive(Clone)]
pub(super) struct Form {
    look: Arc<AtomicU8>,
    json: Format<Json>,
}

impl Form {
    /// A first look.
    pub(super) fn new(look: Look) -> Self {
        let json = Format::default().json().flatten_event(true).with_current_span(false);
        Self { look: Arc::new(AtomicU8::new(look as u8)), json }
    }

    /// Another one.
    pub(super) fn set(&self, look: Look) {
        self.look.store(look as u8, Ordering::Relaxed);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> FormatEvent<S, JsonFields> for Form {
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, JsonFields>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        match self.look.load(Ordering::Relaxed) {
            0 => self.json.format_event(ctx, writer, event),
            look => pretty(ctx, writer, event, look == Look::Colored as u8),
        }
    }
}

/// Time, level, where it comes from, what it says; then the spans around it.
fn pretty<S: Subscriber + for<'a> LookupSpan<'a>>(
    ctx: &FmtContext<'_, S, JsonFields>,
    mut writer: Writer<'_>,
    event: &Event<'_>,
    colored: bool,
) -> fmt::Result {
    let (dim, bright, off) = match (colored, *event.metadata().level()) {
        (false, _) => ("", "", ""),
        (true, Level::ERROR) => ("\x1b[2m", "\x1b[31m", "\x1b[0m"),
        (true, Level::WARN) => ("\x1b[2m", "\x1b[33m", "\x1b[0m"),
        (true, Level::INFO) => ("\x1b[2m", "\x1b[32m", "\x1b[0m"),
        (true, _) => ("\x1b[2m", "\x1b[34m", "\x1b[0m"),
    };
    writer.write_str(dim)?;
    SystemTime.format_time(&mut writer)?;
    write!(writer, "{off} {bright}{:>5}{off} {dim}", event.metadata().level())?;
    for span in ctx.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
        writer.write_str(span.metadata().name())?;
        if let Some(fields) = span.extensions().get::<FormattedFields<JsonFields>>() {
            spans(&mut writer, fields)?;
        }
        writer.write_str(": ")?;
    }
    write!(writer, "{}:{off} ", event.metadata().target())?;
    DefaultFields::new().format_fields(writer.by_ref(), event)?;
    writer.write_str("\n")
}

/// The fields of a span, `{id=7 task=x}`.
fn spans(writer: &mut Writer<'_>, json: &str) -> fmt::Result {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    if fields.is_empty() {
        return Ok(());
    }
    for (place, (name, value)) in fields.iter().enumerate() {
        writer.write_str(if place == 0 { "{" } else { " " })?;
        match value {
            // As a text in quotes where it would run into the next, and always escaped (O-32).
            serde_json::Value::String(text) if text.chars().all(|c| c.is_ascii_graphic()) => {
                write!(writer, "{name}={text}")?;
            }
            serde_json::Value::String(text) => write!(writer, "{name}={text:?}")?,
            value => write!(writer, "{name}={value}")?,
        }
    }
    writer.write_str("}")
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Mutex, PoisonError},
    };

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_record_looks_as_is_wanted_also_in_a_span_that_was_open_before() {
        let (page, form) = (Page::default(), Form::new(Look::Plain));
        let to = page.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .fmt_fields(JsonFields::new())
            .event_format(form.clone())
            .with_writer(move || to.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("request", id = 7, task = tracing::field::Empty);
            let _in = span.enter();
            span.record("task", "a b\u{1b}");
            tracing::info!(state = "x", "first");
            form.set(Look::Json);
            tracing::warn!("second");
            form.set(Look::Colored);
            tracing::error!("third");
        });
        let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let [first, second, third] = lines[..] else { panic!("{text}") };
        let spans = r#"request{id=7 task="a b\u{1b}"}: "#;
        assert!(
            first.contains(&format!("  INFO {spans}a2ad::daemon::logs::form::tests: first state=\"x\"")),
            "{first}"
        );
        let json: serde_json::Value = serde_json::from_str(second).unwrap();
        assert_eq!((&json["message"], &json["spans"][0]["id"]), (&"second".into(), &7.into()), "{second}");
        assert!(third.contains("\u{1b}[31mERROR\u{1b}[0m") && third.contains(spans), "{third}");
    }
}
