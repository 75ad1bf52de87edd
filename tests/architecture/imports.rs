//! What a source file names of its own crate.

/// The code alone: comments and the content of texts become blanks, lines stay where they are.
pub(crate) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = skipped(rest);
        if length == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        out.extend(rest[..length].chars().map(|c| if c == '\n' { c } else { ' ' }));
        rest = &rest[length..];
    }
    out
}

/// How many bytes at the start are no code.
fn skipped(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    if let Some(raw) = rest.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let opened = hashes + 2;
            return rest[opened..].find(&close).map_or(rest.len(), |end| opened + end + close.len());
        }
    }
    if rest.starts_with('"') {
        return quoted(rest, '"');
    }
    // A character, and not a lifetime.
    if rest.starts_with("'\\") || rest.starts_with('\'') && rest.chars().nth(2) == Some('\'') {
        return quoted(rest, '\'');
    }
    0
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Every path of the crate that code names, without `crate::`, and its line.
pub(crate) fn paths(code: &str) -> Vec<(usize, String)> {
    const ROOT: &str = "crate::";
    let mut found = Vec::new();
    for (at, _) in code.match_indices(ROOT) {
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            branch(code, at + ROOT.len(), String::new(), &mut found);
        }
    }
    found
}

/// Reads `a::b`, `a::{b, c as d}`, `*` from `at`; gives where it ends.
fn branch(code: &str, mut at: usize, mut path: String, found: &mut Vec<(usize, String)>) -> usize {
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if code[at..].starts_with('{') {
            return leaves(code, at + 1, &path, found);
        }
        let word = code[at..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*').unwrap_or(0);
        path.push_str(&code[at..at + word]);
        at += word;
        if !code[at..].starts_with("::") {
            let line = code[..at].matches('\n').count() + 1;
            found.push((line, path.trim_end_matches("::").to_owned()));
            return at;
        }
        at += 2;
        path.push_str("::");
    }
}

/// Reads what stands between braces; gives where they close.
fn leaves(code: &str, mut at: usize, path: &str, found: &mut Vec<(usize, String)>) -> usize {
    loop {
        at += code[at..].len() - code[at..].trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
        if at >= code.len() || code[at..].starts_with('}') {
            return at + 1;
        }
        let after = branch(code, at, path.to_owned(), found);
        at = code[after..].find([',', '}']).map_or(code.len(), |next| after + next);
    }
}
