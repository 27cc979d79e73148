//! What `inferometer history` says.

use inferometer_text::texts;

texts! {
    pub enum HistoryText {
        Worse => "WORSE", "变差";
        Better => "BETTER", "变好";
        Steady => "NO CHANGE FOUND", "未发现变化";
        TooFew => "TOO FEW RUNS", "运行次数太少";
        Scope => "runs: {runs}, scenarios: {scenarios}", "运行 {runs} 次，场景 {scenarios} 个";
        Needed => "{needed} runs of one scenario or more can show a change", "同一场景至少运行 {needed} 次才能看出变化";
        Broken => "the latest {runs} runs, since {from}, are INVALID: {doubts}", "自 {from} 起最近 {runs} 次运行均无效：{doubts}";
        BrokenAmong => "{runs} of the latest {of} runs, the first at {from}, are INVALID: {doubts}", "最近 {of} 次运行中有 {runs} 次无效（首次于 {from}）：{doubts}";
        Validity => "validity", "有效性";
        LatestChange => "latest change: {change}", "最近一次变化：{change}";
        WorseAndBetter => "worse: {worse}; better: {better}", "变差：{worse}；变好：{better}";
        BehindBest => "{metric} is still {change} from its best level", "{metric} 与最好水平相比仍为 {change}";
        BesideBest => "vs best", "与最好相比";
        BetterAndWorse => "better and worse", "有好有坏";
        Rose => "{metric} rose {percent} [{low}, {high}] between {from} and {to}", "{metric} 在 {from} 与 {to} 之间上升 {percent}［{low}，{high}］";
        Fell => "{metric} fell {percent} [{low}, {high}] between {from} and {to}", "{metric} 在 {from} 与 {to} 之间下降 {percent}［{low}，{high}］";
        Between => "between {from} and {to}", "{from} 与 {to} 之间";
        LiesBetween => "changed there: {facts}", "期间变更：{facts}";
        LiesNear => "nothing that is recorded changed right there; within two runs of it: {facts}", "该处没有已记录的变更；前后两次运行之内：{facts}";
        NothingKnown => "nothing that is recorded changed there", "期间没有已记录的变更";
        FactChanged => "{name} {from} → {to}", "{name} {from} → {to}";
        FactAdded => "{name} {to} (new)", "{name} {to}（新增）";
        FactGone => "{name} {from} (gone)", "{name} {from}（移除）";
        Scenario => "scenario", "场景";
        Runs => "runs", "运行";
        RunsFromTo => "{count}, from {from} to {to}", "{count} 次，{from} 至 {to}";
        RunsInvalid => "{runs}; {invalid} invalid ones are not counted", "{runs}；另有 {invalid} 次无效，不计入";
        NoneValid => "none is valid; {invalid} invalid ones are not counted", "没有有效的运行；{invalid} 次无效，不计入";
        Short => "Scenarios with fewer than {needed} runs", "运行不足 {needed} 次的场景";
        Latest => "latest", "最近一次";
        Changes => "Changes", "变化";
        Metric => "metric", "指标";
        Now => "now", "现在";
        Before => "before", "之前";
        Change => "change", "变化";
        Since => "since", "自";
        Judged => "verdict", "结论";
        CellNotFound => "none found", "未发现";
        CellFoundFrom => "none ≥ {least}", "没有 ≥ {least} 的变化";
        CellTooFew => "too few runs", "运行次数太少";
        Method => "lasting changes beyond {margin}; a scenario without any shows one in {risk} of cases at most, over all its metrics; where none was found, the least one that the last runs would have shown is named", "只报告超过 {margin} 的持续变化；对没有变化的场景，全部指标合计误报率不超过 {risk}；未发现变化时，给出最近几次运行足以显示的最小变化";
        FigureTitle => "History", "历史";
        FigureOf => "History: {name}", "历史：{name}";
        Dates => "date ({year})", "日期（{year}）";
        Numbers => "run", "运行序号";
        Measured => "runs", "各次运行";
        Level => "level", "水平";
    }
}
