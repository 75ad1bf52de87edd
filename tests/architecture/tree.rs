//! The files of the repository, and the pages that they name.

use std::path::Path;

/// A file and what is in it.
pub(crate) struct File {
    /// Its path below `src` (of sources) or below the root (of texts), with slashes.
    pub(crate) name: String,
    pub(crate) text: String,
}

impl File {
    /// The part of the crate that it belongs to.
    pub(crate) fn part(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Whether it holds tests alone.
    pub(crate) fn is_test(&self) -> bool {
        self.name.ends_with("/tests.rs") || self.name.contains("/tests/")
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources below `src`.
pub(crate) fn sources() -> Vec<File> {
    let files = read(&root().join("src"), &["rs"]);
    assert!(files.len() > 100, "src has {} files only: is this the whole tree?", files.len());
    files
}

/// Everything of the repository that is text and may name a page.
pub(crate) fn texts() -> Vec<File> {
    read(root(), &["rs", "md", "toml", "sql", "yml", "py", "sh"])
}

fn read(root: &Path, endings: &[&str]) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            let name = relative(root, &path);
            if path.is_dir() {
                // What was built, what git keeps, what a peer's package manager brought.
                if !["target", ".git", "node_modules", ".venv"].iter().any(|other| name.ends_with(other)) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| endings.iter().any(|other| ending == *other)) {
                let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
                files.push(File { name, text });
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The numbers of the lines that a question holds for.
pub(crate) fn lines_of(text: &str, holds: impl Fn(&str) -> bool) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| holds(line)).map(|(number, _)| number + 1).collect()
}

/// Pages that a file names, with their lines: in a page each link that is no URL, elsewhere each `….md` of a comment.
pub(crate) fn pages_named(file: &File) -> Vec<(usize, String)> {
    let mut named = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let found = if file.name.ends_with(".md") { links(line) } else { pages(line) };
        named.extend(found.into_iter().map(|page| (number + 1, page)));
    }
    named
}

fn links(line: &str) -> Vec<String> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://")).map(str::to_owned).collect()
}

fn pages(line: &str) -> Vec<String> {
    let comment = ["//", "# ", "--"].iter().filter_map(|mark| line.find(mark)).min();
    let Some(comment) = comment else { return Vec::new() };
    let words = line[comment..].split(|c: char| !(c.is_alphanumeric() || "./_-".contains(c)));
    words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.ends_with(".md") && word.len() > 3)
        .map(str::to_owned)
        .collect()
}

/// Whether a page is there: beside the file that names it, or from the root.
pub(crate) fn exists(name: &str, page: &str) -> bool {
    let beside = Path::new(name).parent().map(|folder| root().join(folder).join(page));
    beside.is_some_and(|page| page.exists()) || root().join(page).exists()
}
