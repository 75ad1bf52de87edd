//! Which dialect a request speaks (P-1).

use super::{Method, fault::short};
use crate::model::Fault;

/// The dialects that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// A2A 1.0.
    V1,
}

/// The versions that are served, as `Major.Minor`.
pub const VERSIONS: [&str; 1] = ["1.0"];

/// The version of a request that names none (A2A-151).
const UNSAID: &str = "0.3";

impl Dialect {
    /// Dialect and operation of a JSON-RPC call, from all values of the header `A2A-Version`, all of the query
    /// parameter of that name, and the method.
    ///
    /// # Errors
    /// `VersionNotSupported` for a version that is not served, for two different ones, and for a method of 1.0 under
    /// another version (the message says which header to send); `MethodNotFound` for any other name.
    pub fn of<'a>(
        headers: impl IntoIterator<Item = &'a str>,
        query: impl IntoIterator<Item = &'a str>,
        method: &str,
    ) -> Result<(Self, Method), Fault> {
        let version = version(headers, query)?;
        let known = Method::of_v1(method);
        match (major_minor(version), known) {
            (Some("1.0"), Some(method)) => Ok((Self::V1, method)),
            (Some(UNSAID), Some(_)) => Err(Fault::VersionNotSupported(format!(
                "{} is a method of A2A 1.0: send the header A2A-Version: 1.0",
                short(method)
            ))),
            (Some("1.0" | UNSAID), None) => Err(Fault::MethodNotFound(short(method).into_owned())),
            _ => Err(not_served(version)),
        }
    }

    /// The dialect of an HTTP+JSON call, whose path is that of 1.0.
    ///
    /// # Errors
    /// `VersionNotSupported` for every version but 1.0, also where none is said.
    pub fn of_rest<'a>(
        headers: impl IntoIterator<Item = &'a str>,
        query: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Fault> {
        let version = version(headers, query)?;
        match major_minor(version) {
            Some("1.0") => Ok(Self::V1),
            Some(UNSAID) => Err(Fault::VersionNotSupported(
                "this path is one of A2A 1.0: send the header A2A-Version: 1.0".into(),
            )),
            _ => Err(not_served(version)),
        }
    }
}

/// The version of a request: what its header says, else its query.
fn version<'a>(
    headers: impl IntoIterator<Item = &'a str>,
    query: impl IntoIterator<Item = &'a str>,
) -> Result<&'a str, Fault> {
    match said(headers)? {
        Some(version) => Ok(version),
        None => Ok(said(query)?.unwrap_or(UNSAID)),
    }
}

fn not_served(version: &str) -> Fault {
    Fault::VersionNotSupported(format!(
        "A2A version `{}` is not served: send the header A2A-Version: 1.0",
        short(version)
    ))
}

/// The one version that is said. Empty values say nothing; a list in one value is as good as several values (A2A-147).
fn said<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<Option<&'a str>, Fault> {
    let mut said = None;
    for version in values.into_iter().flat_map(|value| value.split(',')).map(str::trim) {
        match said {
            _ if version.is_empty() => {}
            None => said = Some(version),
            Some(first) if same(first, version) => {}
            Some(first) => {
                return Err(Fault::VersionNotSupported(format!(
                    "two A2A versions were sent, `{}` and `{}`: send the header A2A-Version: 1.0 once",
                    short(first),
                    short(version)
                )));
            }
        }
    }
    Ok(said)
}

/// Whether two versions differ in the patch number at most.
fn same(one: &str, other: &str) -> bool {
    one == other || (major_minor(one).is_some() && major_minor(one) == major_minor(other))
}

/// `Major.Minor` of a version; a patch number doesn't count (A2A-152).
fn major_minor(version: &str) -> Option<&str> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = version.splitn(3, '.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let patch = parts.next();
    (number(major) && number(minor) && patch.is_none_or(number))
        .then(|| &version[..=major.len() + minor.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[&str], query: &[&str], method: &str) -> Result<Method, i32> {
        Dialect::of(headers.iter().copied(), query.iter().copied(), method)
            .map(|(_, method)| method)
            .map_err(|fault| super::super::fault::row(&fault).code)
    }

    #[test]
    fn the_header_says_the_version_and_its_patch_number_does_not_count() {
        for version in ["1.0", " 1.0 ", "1.0.1", "1.0,1.0", "1.0, 1.0.7"] {
            assert_eq!(of(&[version], &[], "GetTask"), Ok(Method::GetTask), "{version}");
        }
        assert_eq!(of(&["1.0", "1.0.1"], &[], "GetTask"), Ok(Method::GetTask));
    }

    #[test]
    fn the_query_says_it_where_the_header_is_silent() {
        assert_eq!(of(&[], &["1.0"], "GetTask"), Ok(Method::GetTask));
        assert_eq!(of(&[""], &["1.0"], "GetTask"), Ok(Method::GetTask));
        assert_eq!(of(&["1.0"], &["0.5"], "GetTask"), Ok(Method::GetTask));
    }

    #[test]
    fn different_versions_are_refused() {
        assert_eq!(of(&["1.0", "0.3"], &[], "GetTask"), Err(-32009));
        assert_eq!(of(&["1.0, 1.1"], &[], "GetTask"), Err(-32009));
    }

    #[test]
    fn a_version_that_is_not_served_is_refused_whatever_the_method() {
        for version in ["1", "0.5", "1.1", "99.0", "v1.0", "1.", "1.0.x", "01.0", "1.0.", "10"] {
            assert_eq!(of(&[version], &[], "GetTask"), Err(-32009), "{version}");
            assert_eq!(of(&[version], &[], "nothing"), Err(-32009), "{version}");
        }
    }

    #[test]
    fn ur_54_a_method_of_1_0_without_the_header_is_told_which_header_to_send() {
        let fault = Dialect::of([], [], "SendMessage").unwrap_err();
        assert!(fault.to_string().contains("send the header A2A-Version: 1.0"), "{fault}");
        assert_eq!(of(&["0.3"], &[], "GetTask"), Err(-32009));
    }

    #[test]
    fn a_path_of_1_0_needs_the_version_in_header_or_query() {
        let rest = |headers: &[&'static str], query: &[&'static str]| {
            Dialect::of_rest(headers.iter().copied(), query.iter().copied())
        };
        for (headers, query) in [(&["1.0"][..], &[][..]), (&["1.0.9", "1.0"], &["0.3"]), (&[], &["1.0"])] {
            assert_eq!(rest(headers, query), Ok(Dialect::V1));
        }
        for (headers, query) in [(&[][..], &[][..]), (&[""], &[""]), (&["0.3"], &["1.0"]), (&["99.0"], &[])] {
            let fault = rest(headers, query).unwrap_err();
            assert!(matches!(&fault, Fault::VersionNotSupported(why) if why.contains("A2A-Version: 1.0")));
        }
        assert!(rest(&["1.0", "1.1"], &[]).is_err());
    }

    #[test]
    fn any_other_name_is_no_method() {
        assert_eq!(of(&["1.0"], &[], "message/send"), Err(-32601));
        assert_eq!(of(&[], &[], "message/send"), Err(-32601));
        assert_eq!(of(&[], &[], "sendMessage"), Err(-32601));
    }
}
