//! `ListTasks`, first page: with a thousand tasks and with a million.

use std::time::Instant;

use anyhow::Result;

use crate::{
    Plan,
    client::Connection,
    figures::{Figures, millis},
    fill::fill,
    node::{self, Node},
};

const SIZES: [usize; 2] = [1_000, 1_000_000];

/// Requests of one run.
const REQUESTS: usize = 200;

pub(crate) async fn measure(plan: &Plan) -> Result<()> {
    let mut nodes = Vec::new();
    for size in SIZES {
        let dir = node::fresh(plan, &format!("list-{size}"))?;
        let began = Instant::now();
        fill(&dir.join("state"), size).await?;
        eprintln!("{size} tasks stored in {:.1} s", began.elapsed().as_secs_f64());
        nodes.push(Node::start(plan, &dir, "relaxed").await?);
    }
    let mut figures = [Figures::default(), Figures::default()];
    for _ in 0..plan.runs {
        for (node, figures) in nodes.iter().zip(&mut figures) {
            let request = node.rpc("", "ListTasks", "{}");
            let mut connection = Connection::open(node.addr).await?;
            connection.ask(&request).await?;
            let mut run = Figures::default();
            for _ in 0..REQUESTS {
                let began = Instant::now();
                connection.ask(&request).await?;
                run.add(millis(began.elapsed()));
            }
            figures.add(run.median());
        }
    }
    println!("### `ListTasks`, first page of 50\n\n| tasks | ms |\n|---|---|");
    for (size, figures) in SIZES.iter().zip(&figures) {
        println!("| {size} | {} |", figures.show(2));
    }
    println!("\n* ratio: {:.2}\n", figures[1].median() / figures[0].median());
    for node in nodes {
        node.process.end()?;
    }
    Ok(())
}
