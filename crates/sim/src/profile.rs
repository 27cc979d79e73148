//! The profile of an engine's steps, in the form that chrome://tracing and Perfetto open.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use crate::engine::StepRecord;

/// Steps that a profile holds; later ones are left out.
pub(crate) const MOST_STEPS: usize = 1 << 20;

/// Writes a trace: each step as a slice, queue and memory as counters.
pub(crate) fn write(path: &Path, steps: &[StepRecord]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(
        b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\
          {\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"engine\"}},\n\
          {\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"steps\"}}",
    )?;
    for step in steps {
        let name = match (step.prefill_tokens, step.decode_tokens) {
            (_, 0) => "prefill",
            (0, _) => "decode",
            _ => "mixed",
        };
        let begun = micros(step.at_ns);
        write!(
            out,
            ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"{name}\",\"cat\":\"step\",\
             \"ts\":{begun},\"dur\":{},\"args\":",
            micros(step.duration_ns)
        )?;
        serde_json::to_writer(&mut out, step)?;
        write!(
            out,
            "}},\n{{\"ph\":\"C\",\"pid\":1,\"name\":\"requests\",\"ts\":{begun},\"args\":\
             {{\"running\":{},\"waiting\":{}}}}},\n{{\"ph\":\"C\",\"pid\":1,\"name\":\
             \"KV blocks\",\"ts\":{begun},\"args\":{{\"used\":{}}}}}",
            step.running, step.waiting, step.blocks_used
        )?;
    }
    out.write_all(b"\n]}\n")?;
    out.flush()
}

/// Microseconds, the unit of traces, exactly.
fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}
