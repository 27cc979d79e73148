//! What is said of object stores.

use inferometer_text::texts;

texts! {
    pub enum StoreText {
        Uploaded => "uploaded to {url}: {files} files, {kib} KiB; already there: {known}", "已上传到 {url}：{files} 个文件，{kib} KiB；已在那里：{known}";
        TryingAgain => "{why}; trying again for {seconds} s", "{why}；{seconds} s 内继续重试";
    }
}
