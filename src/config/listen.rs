//! `node.listen`: addresses and unix sockets, as text or as a table.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use toml::Value;

use super::leaf::{Leaf, Mode, Shape, list};
use super::near;
use super::unit::Bad;
use crate::doors::config::Listen;

/// Bytes of a socket's path that the system can take.
const SOCKET_PATH: usize = if cfg!(target_os = "macos") { 103 } else { 107 };

/// The listeners, one at least, none twice.
pub(super) struct Listens(pub(super) Vec<Listen>);

impl Leaf for Listens {
    const SHAPE: Shape = Shape::List;
    fn read(value: &Value) -> Result<Self, Bad> {
        let mut listen: Vec<Listen> = list(value)?.iter().map(entry).collect::<Result<_, _>>()?;
        if listen.is_empty() {
            return Err(Bad::hint("is empty: nobody could call", "write [\"127.0.0.1:7878\"]"));
        }
        for (i, one) in listen.iter().enumerate() {
            // Port 0 is another port each time.
            let any = matches!(one, Listen::Tcp { addr, .. } if addr.port() == 0);
            if !any && listen.iter().take(i).any(|other| other == one) {
                return Err(Bad::new(format!("{one} stands there twice")));
            }
        }
        // A host may lack IPv6: ::1 beside 127.0.0.1 is welcome, not needed (O-56).
        let loopback = |port| Listen::Tcp { addr: SocketAddr::from(([127, 0, 0, 1], port)), optional: false };
        for i in 0..listen.len() {
            if let Listen::Tcp { addr, .. } = listen[i]
                && addr.is_ipv6()
                && addr.ip().is_loopback()
            {
                let optional = listen.contains(&loopback(addr.port()));
                listen[i] = Listen::Tcp { addr, optional };
            }
        }
        Ok(Self(listen))
    }
}

fn entry(value: &Value) -> Result<Listen, Bad> {
    match value {
        Value::String(text) => match text.strip_prefix("unix:") {
            Some(path) => socket(Path::new(path), 0o600, None),
            None => address(text).map(|addr| Listen::Tcp { addr, optional: false }),
        },
        Value::Table(table) => {
            if let Some(unknown) = table.keys().find(|key| !["unix", "mode", "group"].contains(&key.as_str()))
            {
                let hint = near::did_you_mean(unknown, ["unix", "mode", "group"].into_iter());
                return Err(Bad { why: format!("a listener has no key `{unknown}`"), hint });
            }
            let path = table.get("unix").map(String::read).transpose()?;
            let path =
                path.ok_or_else(|| Bad::hint("has no `unix`", "write { unix = \"/run/a2ad/a2ad.sock\" }"))?;
            let mode = table.get("mode").map(Mode::read).transpose()?.map_or(0o600, |mode| mode.0);
            let group = table.get("group").map(String::read).transpose()?;
            socket(Path::new(&path), mode, group)
        }
        other => Err(Bad::hint(format!("`{other}` is no listener"), "write \"127.0.0.1:7878\"")),
    }
}

/// An IP address and a port. Names are refused: what they mean may change between two starts.
pub(super) fn address(text: &str) -> Result<SocketAddr, Bad> {
    if let Ok(addr) = text.parse() {
        return Ok(addr);
    }
    let why = format!("`{text}` is not an address and a port");
    let hint = if let Ok(ip) = text.parse::<IpAddr>() {
        SocketAddr::new(ip, 7878).to_string()
    } else if let Ok(port) = text.parse::<u16>() {
        format!("127.0.0.1:{port}")
    } else {
        match text.rsplit_once(':') {
            Some(("localhost", port)) => format!("127.0.0.1:{port}"),
            Some(("" | "*", port)) => format!("0.0.0.0:{port}"),
            _ => "127.0.0.1:7878".to_owned(),
        }
    };
    Err(Bad::hint(why, format!("write \"{hint}\"")))
}

fn socket(path: &Path, mode: u32, group: Option<String>) -> Result<Listen, Bad> {
    let text = path.to_string_lossy();
    if text.starts_with('@') || text.contains('\0') {
        return Err(Bad::hint("abstract sockets have no permissions", "write the path of a file"));
    }
    if !path.is_absolute() {
        return Err(Bad::hint(
            format!("`{text}` is not a whole path"),
            "write { unix = \"/run/a2ad/a2ad.sock\" }",
        ));
    }
    if text.len() > SOCKET_PATH {
        return Err(Bad::new(format!(
            "`{text}` has {} bytes; a socket's path has {SOCKET_PATH} at most",
            text.len()
        )));
    }
    Ok(Listen::Unix { path: PathBuf::from(path), mode, group })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str) -> Result<Vec<Listen>, Bad> {
        let table: toml::Table = toml::from_str(&format!("listen = {toml}")).unwrap();
        Listens::read(&table["listen"]).map(|listens| listens.0)
    }

    #[test]
    fn the_second_loopback_address_is_optional_only_beside_the_first() {
        let both = read(r#"["127.0.0.1:7878", "[::1]:7878"]"#).unwrap();
        assert!(matches!(both[0], Listen::Tcp { optional: false, .. }));
        assert!(matches!(both[1], Listen::Tcp { optional: true, .. }));
        assert!(matches!(read(r#"["[::1]:7878"]"#).unwrap()[0], Listen::Tcp { optional: false, .. }));
        assert!(matches!(
            read(r#"["127.0.0.1:1", "[::1]:2"]"#).unwrap()[1],
            Listen::Tcp { optional: false, .. }
        ));
    }

    #[test]
    fn a_socket_has_a_mode_and_a_group() {
        let socket = read(r#"[{ unix = "/run/a2ad/a2ad.sock", mode = "0660", group = "caddy" }]"#).unwrap();
        let path = PathBuf::from("/run/a2ad/a2ad.sock");
        assert_eq!(socket, [Listen::Unix { path: path.clone(), mode: 0o660, group: Some("caddy".into()) }]);
        assert_eq!(
            read(r#"["unix:/run/a2ad/a2ad.sock"]"#).unwrap(),
            [Listen::Unix { path, mode: 0o600, group: None }]
        );
        let long = format!(r#"["unix:/{}"]"#, "x".repeat(SOCKET_PATH));
        assert!(read(&long).unwrap_err().why.contains("at most"));
        for text in
            [r#"["unix:@a2ad"]"#, r#"["unix:a2ad.sock"]"#, r#"[{ mode = "0660" }]"#, r#"[{ unx = "/x" }]"#]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_almost_an_address_is_told_what_to_write() {
        for (text, hint) in [
            ("7878", "127.0.0.1:7878"),
            ("127.0.0.1", "127.0.0.1:7878"),
            ("::1", "[::1]:7878"),
            ("localhost:80", "127.0.0.1:80"),
            (":7878", "0.0.0.0:7878"),
            ("*:7878", "0.0.0.0:7878"),
        ] {
            assert_eq!(address(text).unwrap_err().hint.unwrap(), format!("write \"{hint}\""));
        }
        assert!(read("[]").is_err());
        assert!(read(r#"["127.0.0.1:1", "127.0.0.1:1"]"#).is_err());
        assert!(read(r#"["127.0.0.1:0", "127.0.0.1:0"]"#).is_ok());
    }
}
