//! How many requests a second, beside the peers: `SendMessage` to an echo agent, and `GetTask`.

use std::{rc::Rc, time::Duration};

use anyhow::{Context, Result};

use crate::{
    Plan,
    client::{self, Connection, Ids, Load, Request},
    figures::Figures,
    node::{self, Node},
    process::Process,
};

const CONNECTIONS: usize = 128;

/// Tasks among which `GetTask` chooses.
const TASKS: usize = 1000;

/// One thing that is measured, with its figures.
struct Row {
    name: &'static str,
    rate: Figures,
    cpu: Figures,
    half: Figures,
    most: Figures,
}

impl Row {
    fn new(name: &'static str) -> Self {
        let none = Figures::default;
        Self { name, rate: none(), cpu: none(), half: none(), most: none() }
    }

    /// Warms up, then measures.
    async fn measure(&mut self, plan: &Plan, target: Target<'_>) -> Result<()> {
        let Target { process, addr, request, ids } = target;
        client::load(addr, &request, &ids, CONNECTIONS, Duration::from_secs(1)).await?;
        let before = process.cpu()?;
        let time = Duration::from_secs(plan.seconds);
        let load: Load = client::load(addr, &request, &ids, CONNECTIONS, time).await?;
        self.cpu.add((process.cpu()? - before) as f64 * 1e3 / load.answers as f64);
        self.rate.add(load.rate());
        self.half.add(load.within(0.5));
        self.most.add(load.within(0.99));
        eprintln!("{}: {:.0}/s", self.name, load.rate());
        Ok(())
    }
}

struct Target<'a> {
    process: &'a Process,
    addr: std::net::SocketAddr,
    request: Request,
    ids: Ids,
}

pub(crate) async fn measure(plan: &Plan) -> Result<()> {
    let this = std::env::current_exe()?;
    let mut rows = [
        "a2ad, SendMessage, strict",
        "a2ad, SendMessage, relaxed",
        "official SDK, in memory, SendMessage",
        "a2ad, GetTask",
        "bare hyper",
    ]
    .map(Row::new);
    let message = Request::message("hello");
    for _ in 0..plan.runs {
        let mut size = 0;
        for (at, durability) in ["strict", "relaxed"].into_iter().enumerate() {
            let node = Node::start(plan, &node::fresh(plan, durability)?, durability).await?;
            let request = node.rpc("", "SendMessage", &message);
            let (process, addr) = (&node.process, node.addr);
            rows[at].measure(plan, Target { process, addr, request, ids: Ids::Fresh }).await?;
            if durability == "relaxed" {
                let ids = tasks(&node, &message).await?;
                let request = node.rpc("", "GetTask", &Request::task());
                size = Connection::open(addr)
                    .await?
                    .ask(&node.rpc("", "GetTask", &format!(r#"{{"id":"{}"}}"#, ids[0])))
                    .await?
                    .len();
                rows[3].measure(plan, Target { process, addr, request, ids: Ids::Of(Rc::new(ids)) }).await?;
            }
            node.process.end()?;
        }
        let request = || Request::rpc("/", "none", "SendMessage", &message);
        for (at, args) in
            [(2, vec!["peer-sdk".to_owned()]), (4, vec!["peer-bare".to_owned(), size.to_string()])]
        {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let mut process = Process::start(&this, &args, &plan.dir.join("peer"))?;
            let addr = process.address()?;
            let target = Target { process: &process, addr, request: request(), ids: Ids::Fresh };
            rows[at].measure(plan, target).await?;
        }
    }
    print(&rows);
    Ok(())
}

/// Makes tasks and gives their ids.
async fn tasks(node: &Node, message: &str) -> Result<Vec<String>> {
    let request = node.rpc("", "SendMessage", &message.replace("00000000-0000-7000-8000-000000000000", "m"));
    let mut connection = Connection::open(node.addr).await?;
    let mut ids = Vec::with_capacity(TASKS);
    for _ in 0..TASKS {
        let answer: serde_json::Value = serde_json::from_slice(connection.ask(&request).await?)?;
        ids.push(answer["result"]["task"]["id"].as_str().context("no task")?.to_owned());
    }
    Ok(ids)
}

fn print(rows: &[Row; 5]) {
    println!("### Requests a second, {CONNECTIONS} connections\n");
    println!("| | requests/s | CPU µs each | ms, half | ms, 99 % |\n|---|---|---|---|---|");
    for row in rows {
        let (rate, cpu) = (row.rate.show(0), row.cpu.show(1));
        println!("| {} | {rate} | {cpu} | {} | {} |", row.name, row.half.show(1), row.most.show(1));
    }
    let [strict, relaxed, sdk, get, bare] = rows;
    let ratio = |a: &Row, b: &Row| a.rate.median() / b.rate.median();
    println!("\n* strict / official SDK: {:.2}", ratio(strict, sdk));
    println!("* relaxed / official SDK: {:.2}", ratio(relaxed, sdk));
    println!("* GetTask / bare hyper: {:.2}\n", ratio(get, bare));
}
