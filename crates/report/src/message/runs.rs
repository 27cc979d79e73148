//! What `inferometer runs` says.

use inferometer_text::texts;

texts! {
    /// The list of runs.
    pub enum RunsText {
        /// column of names.
        RunName => "name", "名称";
        /// column of labels.
        RunLabel => "label", "标签";
        /// column of times.
        When => "when", "时间";
        /// column of verdicts.
        Verdict => "verdict", "结论";
        /// column of kinds.
        Kind => "kind", "类型";
        /// a run.
        Run => "run", "运行";
        /// a sweep.
        Sweep => "sweep", "扫描";
        /// a search for capacity.
        Capacity => "capacity", "容量";
        /// size of a sweep.
        Points => "points: {count}", "测点：{count}";
        /// Kind: a study of launch flags.
        Study => "study", "调优";
        /// size of a study.
        Trials => "trials: {count}", "试验：{count}";
        /// Kind: results of another tool.
        Import => "import", "导入";
        /// `{count}` results.
        Results => "results: {count}", "结果：{count}";
        /// nothing there.
        NoRuns => "No runs here yet.", "这里还没有运行记录。";
    }
}
