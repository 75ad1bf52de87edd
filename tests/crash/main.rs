//! Death at any instant: a node under load is killed with SIGKILL again and again, and what it had acknowledged must be
//! there each time it comes back: tasks and how they ended, every event that a stream told, every key of a repeated
//! send. No program outlives the next start. Linux only, since it looks at the processes; elsewhere it says so.
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "there is nothing to test elsewhere"))]
#![allow(missing_docs, reason = "tests are sentences")]

mod agents;
mod chance;
mod check;
mod http;
mod ledger;
mod load;
mod node;
mod processes;
mod stored;

use std::{sync::Arc, time::Duration};

use crate::{chance::Chance, ledger::Ledger, load::Load, node::Place};

/// Kills while the node works.
const DEATHS: usize = 50;

/// Kills while it starts, spread among these.
const STILLBIRTHS: usize = 10;

/// Callers at once.
const CALLERS: u64 = 8;

#[cfg(target_os = "linux")]
#[test]
fn what_was_acknowledged_outlives_sixty_deaths() {
    let seed = chance::seed();
    println!("seed {seed}: repeat with A2AD_CRASH_SEED={seed}");
    let mut chance = Chance::new(seed);
    let place = Place::new();
    let ledger = Arc::new(Ledger::default());
    let mut children = 0;
    for death in 0..DEATHS {
        if death % (DEATHS / STILLBIRTHS) == 1 {
            let node = place.begin();
            std::thread::sleep(Duration::from_micros(chance.below(200_000)));
            node.kill();
        }
        let left = processes::marked(&place.mark);
        let node = place.start();
        let alive = processes::marked(&place.mark);
        let outlived: Vec<_> = left.intersection(&alive).collect();
        assert!(outlived.is_empty(), "death {death}: programs of the last node still run: {outlived:?}");
        check::after_death(&node, &ledger);
        let load = Load::begin(&node, &ledger, &mut chance, CALLERS);
        load.goes_on(&ledger, chance.below(60), Duration::from_micros(chance.below(30_000)));
        children += processes::marked(&place.mark).len();
        node.kill();
        load.end();
    }
    let node = place.start();
    check::after_death(&node, &ledger);
    check::all(&node, &ledger);
    node.stop();
    let none = processes::marked(&place.mark);
    assert!(none.is_empty(), "a node that stopped left programs: {none:?}");
    stored::check(&place, &ledger);
    let counts = ledger.counts();
    println!("{counts:?}, {children} programs seen at the instant of a death");
    // Else nothing was tested.
    assert!(children > DEATHS / 2, "hardly a program was running when the node died");
    assert!(counts.tasks > 10 * DEATHS && counts.ended > 5 * DEATHS, "{counts:?}");
    assert!(counts.events > 10 * DEATHS && counts.joined > 5 * DEATHS && counts.messages > 10, "{counts:?}");
}

#[cfg(not(target_os = "linux"))]
#[test]
fn only_linux_shows_what_outlives_a_node() {
    println!("crash: not tested here; it looks at processes as only Linux shows them");
}
