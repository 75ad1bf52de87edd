//! Which dialect a request speaks (P-1).

use super::{Method, fault::short};
use crate::model::Fault;

/// The dialects that are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// A2A 1.0, in every binding.
    V1,
    /// A2A 0.3 in JSON-RPC: its JSON schema, with `kind`.
    V03Json,
    /// A2A 0.3 in HTTP+JSON and gRPC: ProtoJSON of the package `a2a.v1`.
    V03Proto,
}

impl Dialect {
    /// The version that it is of.
    #[must_use]
    pub const fn version(self) -> Version {
        match self {
            Self::V1 => Version::V1,
            Self::V03Json | Self::V03Proto => Version::V03,
        }
    }
}

/// A version of A2A that a node may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// A2A 1.0.
    V1,
    /// A2A 0.3.
    V03,
}

impl Version {
    /// Both, the newest first.
    pub const ALL: [Self; 2] = [Self::V1, Self::V03];

    /// As `Major.Minor`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
        }
    }

    /// The version of a text, whose patch number doesn't count (A2A-152).
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let number = major_minor(text)?;
        Self::ALL.into_iter().find(|version| version.as_str() == number)
    }
}

impl Dialect {
    /// Dialect and operation of a JSON-RPC call, from the versions that are served, all values of the header
    /// `A2A-Version`, all of the query parameter of that name, and the method. A caller that says no version speaks 0.3
    /// (A2A-151).
    ///
    /// # Errors
    /// `VersionNotSupported` for a version that is not served, for two different ones, and for a method of 1.0 under
    /// another version (the message says which header to send); `MethodNotFound` for any other name.
    pub fn of<'a>(
        served: &[Version],
        headers: impl IntoIterator<Item = &'a str>,
        query: impl IntoIterator<Item = &'a str>,
        method: &str,
    ) -> Result<(Self, Method), Fault> {
        let said = asked(served, headers, query)?;
        let version = said.map_or(Some(Version::V03), Version::of);
        let unknown = || Fault::MethodNotFound(unknown(version, method));
        match (version, Method::of_v1(method), Method::of_v03(method)) {
            (Some(Version::V1), Some(method), _) if served.contains(&Version::V1) => Ok((Self::V1, method)),
            (Some(Version::V1), None, _) if served.contains(&Version::V1) => Err(unknown()),
            (Some(Version::V03), Some(_), _) if served.contains(&Version::V1) => Err(refused(
                served,
                format!("{} is a method of A2A 1.0: send the header A2A-Version: 1.0", short(method)),
            )),
            (Some(Version::V03), _, Some(method)) if served.contains(&Version::V03) => {
                Ok((Self::V03Json, method))
            }
            (Some(Version::V03), _, None) if said.is_none() || served.contains(&Version::V03) => {
                Err(unknown())
            }
            _ => {
                let said = said.unwrap_or(Version::V03.as_str());
                Err(refused(
                    served,
                    format!("A2A version `{}` is not served: {}", short(said), advice(served)),
                ))
            }
        }
    }
}

impl Dialect {
    /// The dialect of an HTTP+JSON call, of which the path tells the version.
    ///
    /// # Errors
    /// `VersionNotSupported` where the caller says another one, says none on a path of 1.0, or the version is not served.
    pub fn of_rest<'a>(
        served: &[Version],
        path: Version,
        headers: impl IntoIterator<Item = &'a str>,
        query: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Fault> {
        let said = asked(served, headers, query)?.unwrap_or(Version::V03.as_str());
        match (Version::of(said), path) {
            (Some(said), path) if said == path && served.contains(&path) => Ok(match path {
                Version::V1 => Self::V1,
                Version::V03 => Self::V03Proto,
            }),
            (Some(_), Version::V1) if served.contains(&Version::V1) => {
                Err(refused(served, "this path is one of A2A 1.0: send the header A2A-Version: 1.0".into()))
            }
            (Some(said), Version::V03) if said != path && served.contains(&said) => Err(refused(
                served,
                format!("paths below /v1 are A2A 0.3, and the request says {}: leave /v1 out", said.as_str()),
            )),
            _ => Err(refused(
                served,
                format!("A2A version `{}` is not served: {}", short(said), advice(served)),
            )),
        }
    }
}

/// A name that is none in the version that was said, and what it is called there if A2A 0.3 knows it.
fn unknown(version: Option<Version>, method: &str) -> String {
    let now =
        Method::of_v03(method).filter(|_| version == Some(Version::V1)).and_then(|known| known.names().v1);
    match now {
        Some(now) => format!("{method} in A2A 1.0: call {now}, or send the header A2A-Version: 0.3"),
        None => short(method).into_owned(),
    }
}

/// The version that a request says: in its header, else in its query.
fn asked<'a>(
    served: &[Version],
    headers: impl IntoIterator<Item = &'a str>,
    query: impl IntoIterator<Item = &'a str>,
) -> Result<Option<&'a str>, Fault> {
    match said(served, headers)? {
        Some(version) => Ok(Some(version)),
        None => said(served, query),
    }
}

/// A version that is not spoken here, or not with this method.
fn refused(served: &[Version], why: String) -> Fault {
    let served: Vec<&str> = served.iter().map(|version| version.as_str()).collect();
    Fault::VersionNotSupported { why, served: served.join(",") }
}

/// What to do about it.
fn advice(served: &[Version]) -> &'static str {
    if served.contains(&Version::V1) {
        "send the header A2A-Version: 1.0"
    } else {
        "send the header A2A-Version: 0.3, and its methods"
    }
}

/// The one version that is said. Empty values say nothing; a list in one value is as good as several values (A2A-147).
fn said<'a>(served: &[Version], values: impl IntoIterator<Item = &'a str>) -> Result<Option<&'a str>, Fault> {
    let mut said = None;
    for version in values.into_iter().flat_map(|value| value.split(',')).map(str::trim) {
        match said {
            _ if version.is_empty() => {}
            None => said = Some(version),
            Some(first) if same(first, version) => {}
            Some(first) => {
                let (first, second) = (short(first), short(version));
                let advice = advice(served);
                let why = format!("two A2A versions were sent, `{first}` and `{second}`: {advice}, once");
                return Err(refused(served, why));
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

    type Chosen = Result<(Dialect, Method), i32>;

    fn choose(served: &[Version], headers: &[&str], query: &[&str], method: &str) -> Chosen {
        Dialect::of(served, headers.iter().copied(), query.iter().copied(), method)
            .map_err(|fault| super::super::fault::row(&fault).code)
    }

    fn of(headers: &[&str], query: &[&str], method: &str) -> Chosen {
        choose(&Version::ALL, headers, query, method)
    }

    const NEW: Chosen = Ok((Dialect::V1, Method::GetTask));
    const OLD: Chosen = Ok((Dialect::V03Json, Method::GetTask));

    #[test]
    fn the_header_says_the_version_and_its_patch_number_does_not_count() {
        for version in ["1.0", " 1.0 ", "1.0.1", "1.0,1.0", "1.0, 1.0.7"] {
            assert_eq!(of(&[version], &[], "GetTask"), NEW, "{version}");
        }
        assert_eq!(of(&["1.0", "1.0.1"], &[], "GetTask"), NEW);
        for version in ["0.3", "0.3.0", " 0.3.9", "0.3, 0.3.1"] {
            assert_eq!(of(&[version], &[], "tasks/get"), OLD, "{version}");
        }
    }

    #[test]
    fn who_says_no_version_speaks_0_3() {
        assert_eq!(of(&[], &[], "tasks/get"), OLD);
        assert_eq!(of(&["", " "], &[""], "tasks/get"), OLD);
        assert_eq!(of(&[], &["0.3"], "tasks/get"), OLD);
    }

    #[test]
    fn the_query_says_it_where_the_header_is_silent() {
        assert_eq!(of(&[], &["1.0"], "GetTask"), NEW);
        assert_eq!(of(&[""], &["1.0"], "GetTask"), NEW);
        assert_eq!(of(&["1.0"], &["0.5"], "GetTask"), NEW);
    }

    #[test]
    fn different_versions_are_refused() {
        assert_eq!(of(&["1.0", "0.3"], &[], "GetTask"), Err(-32009));
        assert_eq!(of(&["1.0, 1.1"], &[], "GetTask"), Err(-32009));
        assert_eq!(of(&["0.3", "1.0"], &[], "tasks/get"), Err(-32009));
    }

    #[test]
    fn a_version_that_is_not_served_is_refused_whatever_the_method() {
        for version in
            ["1", "0.5", "1.1", "99.0", "v1.0", "1.", "1.0.x", "01.0", "1.0.", "10", "0.30", "0.2.6"]
        {
            for method in ["GetTask", "tasks/get", "nothing"] {
                assert_eq!(of(&[version], &[], method), Err(-32009), "{version} {method}");
            }
        }
        for method in ["GetTask", "tasks/get", "nothing"] {
            assert_eq!(choose(&[Version::V03], &["1.0"], &[], method), Err(-32009), "{method}");
            assert_eq!(choose(&[Version::V1], &["0.3"], &[], method), Err(-32009), "{method}");
        }
        assert_eq!(choose(&[Version::V1], &[], &[], "tasks/get"), Err(-32009));
        assert_eq!(choose(&[Version::V1], &[], &[], "nothing"), Err(-32601));
    }

    #[test]
    fn ur_54_a_method_of_1_0_without_the_header_is_told_which_header_to_send() {
        for served in [&Version::ALL[..], &[Version::V1]] {
            let fault = Dialect::of(served, [], [], "SendMessage").unwrap_err();
            assert!(fault.to_string().contains("send the header A2A-Version: 1.0"), "{fault}");
            let Fault::VersionNotSupported { served: told, .. } = fault else { panic!("{fault}") };
            assert_eq!(told, if served.len() == 2 { "1.0,0.3" } else { "1.0" });
        }
        assert_eq!(of(&["0.3"], &[], "GetTask"), Err(-32009));
        assert_eq!(choose(&[Version::V03], &[], &[], "GetTask"), Err(-32601), "there is no 1.0 to send to");
    }

    #[test]
    fn a_path_tells_the_version_and_header_or_query_must_agree() {
        let rest = |served: &[Version], path, headers: &[&'static str], query: &[&'static str]| {
            Dialect::of_rest(served, path, headers.iter().copied(), query.iter().copied()).map_err(|fault| {
                assert!(matches!(fault, Fault::VersionNotSupported { .. }), "{fault}");
                fault.to_string()
            })
        };
        let (new, old, all) = (Version::V1, Version::V03, &Version::ALL);
        for (headers, query) in [(&["1.0"][..], &[][..]), (&["1.0.9", "1.0"], &["0.3"]), (&[], &["1.0"])] {
            assert_eq!(rest(all, new, headers, query), Ok(Dialect::V1));
            assert!(rest(all, old, headers, query).unwrap_err().contains("leave /v1 out"));
            assert!(rest(&[old], new, headers, query).is_err());
        }
        for (headers, query) in [(&[][..], &[][..]), (&[""], &[""]), (&["0.3"], &["1.0"]), (&["0.3.0"], &[])]
        {
            assert_eq!(rest(all, old, headers, query), Ok(Dialect::V03Proto));
            assert!(rest(all, new, headers, query).unwrap_err().contains("A2A-Version: 1.0"));
            assert!(rest(&[new], old, headers, query).is_err());
        }
        for path in Version::ALL {
            assert!(rest(all, path, &["99.0"], &[]).unwrap_err().contains("`99.0` is not served"));
            assert!(rest(all, path, &["1.0", "1.1"], &[]).is_err());
        }
    }

    #[test]
    fn a_method_of_0_3_is_told_its_name_in_1_0() {
        let text = Dialect::of(&Version::ALL, ["1.0"], [], "message/send").unwrap_err().to_string();
        assert!(text.contains("call SendMessage"), "{text}");
    }

    #[test]
    fn any_other_name_is_no_method() {
        assert_eq!(of(&["1.0"], &[], "message/send"), Err(-32601));
        for method in ["sendMessage", "tasks/list", "Message/Send", "tasks/get "] {
            assert_eq!(of(&[], &[], method), Err(-32601), "{method}");
        }
    }
}
