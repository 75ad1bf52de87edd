//! Who asks: an ordered list of readers of credentials, the first that finds one decides.

use http::{HeaderMap, header};

use super::{
    config::{Auth, Config},
    gate::Source,
};
use crate::{
    model::{Agents, Caller, CallerRole, Fault, Kind, PrincipalId, Via},
    node::{Credential, Known, Node},
};

/// Somebody who was let in.
pub(super) struct Who {
    /// Who it is.
    pub(super) caller: Caller,
    /// What it showed; `None` where nobody is asked.
    pub(super) credential: Option<Credential>,
}

/// What a reader finds in the headers.
#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    /// No credential of its kind.
    Nothing,
    /// Something that can't be one.
    Bad,
    /// A bearer token.
    Bearer(&'a str),
}

/// The readers, in the order in which they are asked.
const READERS: [fn(&HeaderMap) -> Shown<'_>; 1] = [bearer];

/// `Authorization: Bearer …`, the scheme in any case (RFC 9110 section 11.1).
fn bearer(headers: &HeaderMap) -> Shown<'_> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), more) = (values.next(), values.next()) else { return Shown::Nothing };
    let secret = value.to_str().ok().filter(|_| more.is_none()).and_then(|value| {
        let (scheme, secret) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    secret.filter(|secret| !secret.is_empty()).map_or(Shown::Bad, Shown::Bearer)
}

/// Who shows a credential; `None` if none was shown.
///
/// # Errors
/// The credential is not valid, or not to be used over this connection.
pub(super) fn shown(headers: &HeaderMap, source: Source, node: &Node) -> Result<Option<Who>, Fault> {
    for reader in READERS {
        let secret = match reader(headers) {
            Shown::Nothing => continue,
            Shown::Bad => return Err(Fault::Unauthenticated { sent: true }),
            Shown::Bearer(secret) => secret,
        };
        let known = node.identify(secret, source.is_local()).ok_or(Fault::Unauthenticated { sent: true })?;
        return over(known, source).map(Some);
    }
    Ok(None)
}

/// An admin's token does not travel in clear text: who reads it once has the node (O-64).
fn over(known: Known, source: Source) -> Result<Who, Fault> {
    if known.caller.is_admin() && !source.loopback {
        return Err(Fault::Forbidden(
            "an admin token is not taken over plain HTTP from another machine: use one of the role user, \
             or come through a TLS proxy or an SSH tunnel on the node's own machine"
                .into(),
        ));
    }
    Ok(Who { caller: known.caller, credential: Some(known.credential) })
}

/// Who calls an agent.
///
/// # Errors
/// There is no valid credential.
pub(super) fn caller(
    headers: &HeaderMap,
    source: Source,
    config: &Config,
    node: &Node,
) -> Result<Who, Fault> {
    match config.auth {
        // An `Authorization` is ignored there (P-18).
        Auth::None => Ok(Who { caller: anyone(), credential: None }),
        Auth::Token => shown(headers, source, node)?.ok_or(Fault::Unauthenticated { sent: false }),
    }
}

/// Who calls the operator's paths: an admin, under every `auth.mode` (P-18).
///
/// # Errors
/// There is no valid credential, or it is not an admin's.
pub(super) fn admin(headers: &HeaderMap, source: Source, node: &Node) -> Result<Who, Fault> {
    let who = shown(headers, source, node)?.ok_or(Fault::Unauthenticated { sent: false })?;
    if who.caller.is_admin() {
        Ok(who)
    } else {
        Err(Fault::Forbidden("this is for the operator: it needs a token of the role admin".into()))
    }
}

/// Everybody, where nobody is asked.
fn anyone() -> Caller {
    Caller {
        principal: PrincipalId::anonymous(),
        kind: Kind::Person,
        role: CallerRole::User,
        may_call: Agents::All,
        run: None,
        via: Via::Open,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn one_bearer_token_is_a_credential_and_everything_else_is_a_bad_one() {
        assert_eq!(bearer(&headers(&[])), Shown::Nothing);
        assert_eq!(bearer(&headers(&["Bearer a2ad_x"])), Shown::Bearer("a2ad_x"));
        assert_eq!(bearer(&headers(&["bEARER  a2ad_x "])), Shown::Bearer("a2ad_x"));
        for bad in ["Bearer", "Bearer ", "Basic YTpi", "a2ad_x", "Digest a=b", ""] {
            assert_eq!(bearer(&headers(&[bad])), Shown::Bad, "{bad}");
        }
        assert_eq!(bearer(&headers(&["Bearer a", "Bearer a"])), Shown::Bad, "two are not one");
    }
}
