//! What `inferometer watch` says.

use inferometer_text::texts;

texts! {
    pub enum WatchText {
        Begins => "watching {server}: a probe every {every}, {budget} at most, kept in {folder}", "监视 {server}：每 {every} 探测一次，每次至多 {budget}，结果保存在 {folder}";
        Figures => "requests: {requests}, {rate} tok/s, TTFT p50 {ttft}, TPOT p50 {tpot}", "请求 {requests} 个，{rate} tok/s，TTFT p50 {ttft}，TPOT p50 {tpot}";
        Failed => "{failed} failed ({why})", "失败 {failed} 个（{why}）";
        Away => "the server cannot be measured: {why}", "无法测量服务器：{why}";
        Back => "the server can be measured again", "服务器恢复，可以测量";
        Worse => "{scenario}: {change}", "{scenario}：{change}";
        AlertFailed => "warning: --alert-command failed: {why}", "警告：--alert-command 失败：{why}";
        WebhookFailed => "warning: the webhook did not take the alert: {why}", "警告：webhook 未接收告警：{why}";
        Ended => "probes: {probes}; look back on them with: inferometer history {folder}", "已探测 {probes} 次；查看历史：inferometer history {folder}";
    }
}
