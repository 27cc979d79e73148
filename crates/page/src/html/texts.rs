//! Words of the page itself: its buttons and what stands around charts.

inferometer_text::texts! {
    pub enum ControlText {
        RawNumbers => "Raw numbers", "原始数据";
        RawNumbersAre => "Every number of this page, unrounded, is inside it as JSON.", "本页所有数值均以 JSON 形式（未取整）嵌入页面。";
        Download => "Download JSON", "下载 JSON";
        CopyMarkdown => "Copy as Markdown", "复制为 Markdown";
        CopyCsv => "Copy as CSV", "复制为 CSV";
        Copy => "Copy", "复制";
        Copied => "Copied", "已复制";
        TakePng => "Save this chart as a picture", "将此图保存为图片";
        TakeCsv => "Save the values of this chart as CSV", "将此图的数据保存为 CSV";
        Theme => "Light / dark", "浅色 / 深色";
        ChartHelp => "Drag to zoom, double-click to reset.", "拖动缩放，双击还原。";
        ChartHelpLegend => "Drag to zoom, double-click to reset, click a name in the legend to hide it.", "拖动缩放，双击还原，点击图例可隐藏曲线。";
        NoCharts => "This browser cannot unpack the charts (it lacks DecompressionStream). The tables are complete; for pictures, use inferometer report --format png.", "当前环境无法解压图表（缺少 DecompressionStream）。表格数据完整；如需图片，请使用 inferometer report --format png。";
        NoScript => "Charts need JavaScript. The tables are complete; for pictures, use inferometer report --format png.", "图表需要启用 JavaScript。表格数据完整；如需图片，请使用 inferometer report --format png。";
    }
}
