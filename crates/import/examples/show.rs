//! Prints what `import` finds in files, as JSON.
#![allow(clippy::print_stdout)]

fn main() -> std::io::Result<()> {
    for name in std::env::args().skip(1) {
        let text = String::from_utf8_lossy(&std::fs::read(&name)?).into_owned();
        println!("{:#}", inferometer_import::read(&name, &text).to_json());
    }
    Ok(())
}
