//! From the start of the process until it is ready, with a hundred thousand stored tasks.

use anyhow::Result;

use crate::{
    Plan,
    figures::{Figures, millis},
    fill::fill,
    node::{self, Node},
};

const TASKS: usize = 100_000;

pub(crate) async fn measure(plan: &Plan) -> Result<()> {
    let dir = node::fresh(plan, "starts")?;
    fill(&dir.join("state"), TASKS).await?;
    let (mut after, mut memory) = (Figures::default(), Figures::default());
    for _ in 0..plan.runs.max(5) {
        let node = Node::start(plan, &dir, "strict").await?;
        after.add(millis(node.ready_after));
        memory.add(node.process.memory()?.resident as f64 / 1024.0);
        node.process.end()?;
    }
    println!("### Start with {TASKS} stored tasks\n");
    println!("* ready after {} ms", after.show(1));
    println!("* resident then: {} MiB\n", memory.show(1));
    Ok(())
}
