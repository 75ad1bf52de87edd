//! Files that somebody else named, written where they can do no harm (O-33).
#![expect(clippy::disallowed_methods, reason = "writes the files that the user asked for")]

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::exit::{Code, Failure};

/// A folder to save files in.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    force: bool,
    /// What was saved here just now, in lower case: two files of one name are two files, also with force.
    saved: HashSet<String>,
}

/// Longest file name, in bytes; some systems take no more than 255, and a number may be added.
const LONGEST: usize = 200;

/// How many numbers are tried beside a name that is taken.
const MOST_NUMBERS: u32 = 1000;

impl Folder {
    /// Opens it, or makes it.
    pub(super) fn open(path: &Path, force: bool) -> anyhow::Result<Self> {
        std::fs::create_dir_all(path).with_context(|| cannot(path))?;
        Ok(Self { path: path.to_owned(), force, saved: HashSet::new() })
    }

    /// Saves a file under a cleaned name. A name that is taken gets a number, or is replaced if that was asked for; a
    /// link of that name is replaced and never followed.
    pub(super) fn save(&mut self, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        let name = cleaned(name);
        for number in 0..MOST_NUMBERS {
            let name = numbered(&name, number);
            if !self.saved.insert(name.to_lowercase()) {
                continue;
            }
            if self.force {
                return self.replace(&name, bytes);
            }
            let path = self.path.join(&name);
            // Fails where anything of that name is, a link to nowhere included.
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return write(file, &path, bytes).map(|()| path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(anyhow::Error::new(error).context(cannot(&path))),
            }
        }
        Err(Failure::of(
            Code::CannotCreate,
            format!("{} holds too many files called {name}", self.path.display()),
        ))
    }

    /// Written beside and put in place at once: a link there is replaced itself, not what it leads to.
    fn replace(&self, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        let beside = self.path.join(format!(".{name}.{}.part", std::process::id()));
        let file =
            OpenOptions::new().write(true).create_new(true).open(&beside).with_context(|| cannot(&beside))?;
        let written = write(file, &beside, bytes)
            .and_then(|()| std::fs::rename(&beside, &path).with_context(|| cannot(&path)));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written.map(|()| path)
    }
}

fn write(mut file: File, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    file.write_all(bytes).with_context(|| cannot(path))
}

fn cannot(path: &Path) -> Failure {
    Failure { code: Code::CannotCreate, text: format!("{} can't be written", path.display()) }
}

/// `report.pdf`, `report-1.pdf`, `report-2.pdf`.
fn numbered(name: &str, number: u32) -> String {
    match (number, name.rsplit_once('.')) {
        (0, _) => name.to_owned(),
        (_, Some((stem, ending))) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
        _ => format!("{name}-{number}"),
    }
}

/// Names of devices on Windows, whatever their ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// A name that is a name everywhere: the last component, without control and format characters, without dots and
/// dashes in front, without dots and blanks at the end, and no device of Windows.
fn cleaned(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or_default();
    let kept: String = last
        .chars()
        .filter(|letter| super::terminal::one_line(&letter.to_string()) == letter.to_string())
        .map(|letter| if "<>:\"|?*".contains(letter) { '_' } else { letter })
        .collect();
    let kept = kept.trim_start_matches(['.', '-', ' ']).trim_end_matches(['.', ' ']);
    let kept = shortened(kept);
    let stem = kept.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| {
            matches!(rest, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "0" | "¹" | "²" | "³")
        })
    };
    if kept.is_empty() {
        "artifact".to_owned()
    } else if DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt") {
        format!("_{kept}")
    } else {
        kept
    }
}

/// Not longer than [`LONGEST`], the ending kept if it is short.
fn shortened(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 16);
    let room = LONGEST - ending.map_or(0, |ending| ending.len() + 1);
    let end = (0..=room).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    match ending {
        Some(ending) => format!("{}.{ending}", &name[..end]),
        None => name[..end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_lose_what_could_lead_elsewhere() {
        for (name, clean) in [
            ("report.pdf", "report.pdf"),
            ("../../.ssh/authorized_keys", "authorized_keys"),
            ("C:\\Windows\\system32\\a.dll", "a.dll"),
            (".bashrc", "bashrc"),
            ("--force", "force"),
            ("-rf", "rf"),
            ("a\u{202e}fdp.exe\x1b[0m\n", "afdp.exe[0m"),
            ("a:b|c", "a_b_c"),
            ("name. . .", "name"),
            ("CON", "_CON"),
            ("nul.txt", "_nul.txt"),
            ("com1.log", "_com1.log"),
            ("company.log", "company.log"),
            ("dir/", "dir"),
            ("..", "artifact"),
            ("", "artifact"),
        ] {
            assert_eq!(cleaned(name), clean, "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn a_cleaned_name_is_one_visible_component(name in "\\PC{0,40}|.{0,300}|[./\\\\-]{0,10}") {
            let clean = cleaned(&name);
            let path = Path::new(&clean);
            prop_assert_eq!(path.components().count(), 1);
            prop_assert!(!clean.starts_with(['.', '-']) && !clean.contains(['/', '\\', '\0']));
            prop_assert!(!clean.is_empty() && clean.len() <= LONGEST + 1);
            prop_assert_eq!(cleaned(&clean), clean.clone(), "cleaning twice changes nothing");
        }
    }

    fn folder(force: bool) -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(&dir.path().join("out"), force).unwrap();
        (dir, folder)
    }

    #[test]
    fn what_exists_is_never_replaced_unless_asked() {
        let (_dir, mut folder) = folder(false);
        let first = folder.save("a.txt", b"1").unwrap();
        let second = folder.save("a.txt", b"2").unwrap();
        assert_eq!(second.file_name().unwrap(), "a-1.txt");
        assert_eq!(std::fs::read(&first).unwrap(), b"1");
        let mut forced = Folder::open(&folder.path, true).unwrap();
        assert_eq!(forced.save("a.txt", b"3").unwrap(), first);
        assert_eq!(std::fs::read(&first).unwrap(), b"3");
        assert_eq!(std::fs::read_dir(&forced.path).unwrap().count(), 2, "nothing is left beside");
        assert_eq!(
            forced.save("A.txt", b"4").unwrap().file_name().unwrap(),
            "A-1.txt",
            "one run loses no file"
        );
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        for force in [false, true] {
            let (dir, mut folder) = folder(force);
            let secret = dir.path().join("secret");
            std::fs::write(&secret, b"keep").unwrap();
            std::os::unix::fs::symlink(&secret, folder.path.join("a.txt")).unwrap();
            std::os::unix::fs::symlink(dir.path().join("absent"), folder.path.join("b.txt")).unwrap();
            folder.save("a.txt", b"evil").unwrap();
            folder.save("b.txt", b"evil").unwrap();
            assert_eq!(std::fs::read(&secret).unwrap(), b"keep");
            assert!(!dir.path().join("absent").exists());
        }
    }
}
