//! The form of a token: `a2ad_`, 43 letters of chance, 6 of a checksum, so that secret scanners find it (O-54).

use sha2::{Digest, Sha256};

const PREFIX: &str = "a2ad_";
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM: usize = 43;
const CHECKSUM: usize = 6;

/// How many first letters of a token lists may show.
pub const SHOWN: usize = PREFIX.len() + 8;

/// Fewest characters of a secret that somebody brings along (O-54): a plain hash is right only for random ones.
pub const SHORTEST: usize = 32;

/// A fresh token.
///
/// # Errors
/// The system gives no randomness.
pub fn make() -> Result<String, String> {
    let mut secret = String::from(PREFIX);
    let mut pool = [0u8; 64];
    while secret.len() < PREFIX.len() + RANDOM {
        getrandom::fill(&mut pool).map_err(|error| format!("the system gives no randomness: {error}"))?;
        // 248 is the largest multiple of 62 in a byte: above it letters would not be equally likely.
        let letters =
            pool.iter().filter(|byte| **byte < 248).map(|byte| char::from(LETTERS[usize::from(*byte) % 62]));
        let left = PREFIX.len() + RANDOM - secret.len();
        secret.extend(letters.take(left));
    }
    let checksum = checksum(&secret);
    secret.push_str(&checksum);
    Ok(secret)
}

/// The hash under which a secret is kept.
#[must_use]
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Whether a text has the form and the checksum of one of our tokens.
#[must_use]
pub fn is_ours(text: &str) -> bool {
    text.len() == PREFIX.len() + RANDOM + CHECKSUM
        && text.is_ascii()
        && text.starts_with(PREFIX)
        && checksum(&text[..PREFIX.len() + RANDOM]) == text[PREFIX.len() + RANDOM..]
}

fn checksum(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(CHECKSUM).map(|byte| char::from(LETTERS[usize::from(*byte) % 62])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_form_and_a_slip_of_the_pen_breaks_it() {
        let token = make().unwrap();
        assert!(is_ours(&token), "{token}");
        assert_ne!(token, make().unwrap());
        let mut slip = token.into_bytes();
        slip[10] = if slip[10] == b'a' { b'b' } else { b'a' };
        assert!(!is_ours(&String::from_utf8(slip).unwrap()));
    }
}
