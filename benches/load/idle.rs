//! Memory of a node that has nothing to do: alone, after work, and for each subscriber that waits.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::{
    Plan,
    client::{self, Connection, Ids, Request},
    figures::Figures,
    node::{self, Node},
    process::Memory,
    streams,
};

const SUBSCRIBERS: usize = 2000;

pub(crate) async fn measure(plan: &Plan) -> Result<()> {
    let (mut alone, mut anonymous, mut worked, mut each) =
        (Figures::default(), Figures::default(), Figures::default(), Figures::default());
    for _ in 0..plan.runs {
        let node = Node::start(plan, &node::fresh(plan, "idle")?, "strict").await?;
        let start = settled(&node).await?;
        alone.add(start.resident as f64 / 1024.0);
        anonymous.add(start.anonymous as f64 / 1024.0);
        let id = streams::open(&node).await?;
        let before = settled(&node).await?;
        let readers = subscribe(&node, &id).await?;
        let after = settled(&node).await?;
        each.add((after.resident - before.resident) as f64 / SUBSCRIBERS as f64);
        drop(readers);
        let request = node.rpc("", "SendMessage", &Request::message("hello"));
        client::load(node.addr, &request, &Ids::Fresh, 128, Duration::from_secs(plan.seconds)).await?;
        let end = settled(&node).await?;
        worked.add(end.resident as f64 / 1024.0);
        eprintln!("idle: {start:?}, {before:?}, {after:?}, {end:?}");
        drop(node);
    }
    println!("### Memory at rest\n");
    println!("* after the start: {} MiB, of which anonymous {} MiB", alone.show(1), anonymous.show(1));
    println!("* for each of {SUBSCRIBERS} idle subscribers: {} KiB", each.show(1));
    println!("* after these and {} s of load: {} MiB\n", plan.seconds, worked.show(1));
    Ok(())
}

async fn settled(node: &Node) -> Result<Memory> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    node.process.memory()
}

/// Subscribers that have had the task as it is and wait for more.
async fn subscribe(node: &Node, id: &str) -> Result<Vec<TcpStream>> {
    let request = node.rpc("chunks", "SubscribeToTask", &format!(r#"{{"id":"{id}"}}"#));
    let mut streams = Vec::with_capacity(SUBSCRIBERS);
    let mut read = vec![0; 4096];
    for _ in 0..SUBSCRIBERS {
        let mut stream = Connection::open(node.addr).await?.stream(&request).await?;
        let length = stream.read(&mut read).await?;
        ensure!(read[..length].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&read[..length]));
        streams.push(stream);
    }
    Ok(streams)
}
