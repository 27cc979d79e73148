//! How fast data sets are read.

fn main() {
    divan::main();
}
