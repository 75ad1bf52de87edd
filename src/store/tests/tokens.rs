use super::*;
use crate::model::{Agents, CallerRole};

fn token(name: &str, hash: u8) -> TokenRow {
    TokenRow {
        hash: [hash; 32],
        name: name.to_owned(),
        role: CallerRole::User,
        agents: Agents::All,
        shown: "a2ad_1Zx".to_owned(),
        made_at: at(i64::from(hash)),
        expires_at: None,
        revoked_at: None,
        used_at: None,
    }
}

#[tokio::test]
async fn tokens_are_found_by_their_hash_also_after_a_restart() {
    let place = Place::new();
    let store = place.open().await;
    let narrow = TokenRow {
        role: CallerRole::Admin,
        agents: Agents::These([agent("echo"), agent("claude")].into()),
        expires_at: Some(at(99)),
        ..token("desk", 1)
    };
    let peer = TokenRow { role: CallerRole::Peer, ..token("lab", 2) };
    store.token_add(narrow.clone()).await.unwrap();
    store.token_add(peer.clone()).await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.token(&[1; 32]).unwrap(), Some(narrow));
    assert_eq!(store.token(&[2; 32]).unwrap(), Some(peer));
    assert_eq!(store.token(&[3; 32]).unwrap(), None);
}

#[tokio::test]
async fn a_secret_is_added_once() {
    let place = Place::new();
    let store = place.open().await;
    store.token_add(token("desk", 1)).await.unwrap();
    assert!(store.token_add(token("other", 1)).await.is_err());
    store.token_add(token("desk", 2)).await.unwrap();
    assert_eq!(store.tokens().unwrap(), [token("desk", 1), token("desk", 2)]);
}

#[tokio::test]
async fn revoking_takes_all_under_a_name_and_keeps_the_name() {
    let place = Place::new();
    let store = place.open().await;
    for row in [token("desk", 1), token("desk", 2), token("lab", 3)] {
        store.token_add(row).await.unwrap();
    }
    assert_eq!(store.token_revoke("desk", at(50)).await.unwrap(), 2);
    assert_eq!(store.token_revoke("desk", at(60)).await.unwrap(), 0, "the first time stands");
    let revoked = |row| TokenRow { revoked_at: Some(at(50)), ..row };
    assert_eq!(
        store.tokens().unwrap(),
        [revoked(token("desk", 1)), revoked(token("desk", 2)), token("lab", 3)]
    );
}

#[tokio::test]
async fn use_is_noted_once_a_minute() {
    let place = Place::new();
    let store = place.open().await;
    store.token_add(token("desk", 1)).await.unwrap();
    for when in [1_000, 60_999] {
        store.token_used(&[1; 32], at(when));
    }
    // The writer does one after the other.
    store.token_revoke("none", at(0)).await.unwrap();
    assert_eq!(store.token(&[1; 32]).unwrap().unwrap().used_at, Some(at(1_000)));
    store.token_used(&[1; 32], at(61_000));
    store.token_revoke("none", at(0)).await.unwrap();
    assert_eq!(store.token(&[1; 32]).unwrap().unwrap().used_at, Some(at(61_000)));
}
