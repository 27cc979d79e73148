//! Speed of synthetic media on one thread, as they go into a body: made, and written in base64. Run
//! with `cargo bench -p inferometer-workload --bench media`.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use inferometer_core::medium::Medium;
use inferometer_core::work::MediaSpec;
use inferometer_workload::{Media, Nonce};

fn main() {
    divan::main();
}

fn make(bencher: Bencher, spec: MediaSpec) {
    let nonce = Some(Nonce::from_random(7));
    let media = Media::new(&spec, 1, nonce).expect("it is possible");
    let bytes: usize = (media.of(0, 0).iter())
        .map(|medium| match medium {
            Medium::Image(url) | Medium::Video(url) => url.len(),
            Medium::Sound(sound) => sound.bytes.len(),
        })
        .sum();
    let mut session = 0;
    let bencher = bencher.counter(ItemsCount::new(1_usize));
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        session += 1;
        media.of(session, 0)
    });
}

#[divan::bench(args = ["512x512", "1280x720"])]
fn image(bencher: Bencher, size: &str) {
    let images = format!("n=1,size={size}").parse().ok();
    make(
        bencher,
        MediaSpec {
            images,
            ..MediaSpec::default()
        },
    );
}

#[divan::bench(args = ["640x360", "1280x720"])]
fn video_of_16_frames(bencher: Bencher, size: &str) {
    let video = format!("n=1,frames=16,size={size}").parse().ok();
    make(
        bencher,
        MediaSpec {
            video,
            ..MediaSpec::default()
        },
    );
}

#[divan::bench]
fn sound_of_10_s(bencher: Bencher) {
    let audio = "n=1,seconds=10".parse().ok();
    make(
        bencher,
        MediaSpec {
            audio,
            ..MediaSpec::default()
        },
    );
}
