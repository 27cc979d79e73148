//! What `inferometer runs` says.

use inferometer_text::texts;

texts! {
    pub enum RunsText {
        RunName => "name", "名称";
        RunLabel => "label", "标签";
        When => "when", "时间";
        Verdict => "verdict", "结论";
        Kind => "kind", "类型";
        Run => "run", "运行";
        Sweep => "sweep", "扫描";
        Capacity => "capacity", "容量";
        Points => "points: {count}", "测点：{count}";
        Study => "study", "调优";
        Trials => "trials: {count}", "试验：{count}";
        Import => "import", "导入";
        Comparison => "comparison", "对比";
        Sides => "sides: {count}", "对比项：{count}";
        Results => "results: {count}", "结果：{count}";
        Intact => "{path}: intact, files: {files}", "{path}：完好，文件数：{files}";
        Unhashed => "{path}: readable, but without hashes (an older version, a killed run, one that goes on, or SHA256SUMS was removed)", "{path}：可读，但没有校验和（旧版本、被中止或仍在进行的运行，或 SHA256SUMS 已被删除）";
        Damaged => "{path}: DAMAGED: {what}", "{path}：已损坏：{what}";
        Failed => "{count} failed", "失败 {count}";
        SloMissed => "SLO missed", "SLO 未达标";
        Limited => "… and {older} older: --limit 0 shows all", "……另有 {older} 条更早的记录：--limit 0 列出全部";
        NoRuns => "No runs here yet.", "这里还没有运行记录。";
    }
}
