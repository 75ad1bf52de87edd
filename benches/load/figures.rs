//! Figures: the machine, medians and spreads.
#![expect(clippy::disallowed_methods, reason = "a load program owns its directories")]

use std::{
    fs,
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::Plan;

/// Measurements of one thing.
#[derive(Clone, Default)]
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    pub(crate) fn median(&self) -> f64 {
        match self.0.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => self.0[n / 2],
            n => f64::midpoint(self.0[n / 2 - 1], self.0[n / 2]),
        }
    }

    /// The median, and the least and most.
    pub(crate) fn show(&self, digits: usize) -> String {
        let (least, most) = (self.0.first().copied(), self.0.last().copied());
        format!(
            "{:.digits$} ({:.digits$} to {:.digits$})",
            self.median(),
            least.unwrap_or(f64::NAN),
            most.unwrap_or(f64::NAN)
        )
    }
}

/// Says what it is measured on.
pub(crate) fn machine(plan: &Plan) -> Result<()> {
    fs::create_dir_all(&plan.dir)?;
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let size = fs::metadata(&plan.binary)?.len();
    println!("* {cores} cores ({}), Linux {}", model.unwrap_or("?"), kernel.trim());
    println!("* {} bytes of `{}`", size, plan.binary.display());
    println!("* one `fdatasync` after 4 KiB: {} µs", sync(plan)?.show(0));
    println!("* {} runs each, loads of {} s after 1 s of warming up\n", plan.runs, plan.seconds);
    Ok(())
}

/// What the disk needs to keep 4 KiB.
fn sync(plan: &Plan) -> Result<Figures> {
    let path = plan.dir.join("sync");
    let mut file = fs::File::create(&path)?;
    let mut figures = Figures::default();
    for _ in 0..200 {
        file.write_all(&[7; 4096])?;
        let began = Instant::now();
        file.sync_data()?;
        figures.add(micros(began.elapsed()));
    }
    fs::remove_file(path)?;
    Ok(figures)
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
