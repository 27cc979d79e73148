//! What other tools make beside the text, in our words.

use super::translator::{TranslateError, Translator};

/// Pictures of `random-mm`: so many of each request, drawn from sizes (height, width, frames), of
/// which one frame is an image and several are a video.
pub(super) fn of_vllm(translator: &mut Translator) -> Result<(), TranslateError> {
    let items = translator.count_or("random-mm-base-items-per-request", 1)?;
    let ratio = translator.real("random-mm-num-mm-items-range-ratio")?;
    let limits = translator.value_or(
        "random-mm-limit-mm-per-prompt",
        r#"{"image": 255, "video": 1}"#,
    );
    let limits: serde_json::Value = serde_json::from_str(&limits).unwrap_or_default();
    let usual = "{(256, 256, 1): 0.5, (720, 1280, 1): 0.5}";
    let buckets = translator.value_or("random-mm-bucket-config", usual);
    let buckets: Vec<Bucket> = (buckets.split('(').skip(1))
        .filter_map(Bucket::of)
        .filter(|bucket| bucket.share > 0.0)
        .collect();
    let all: f64 = buckets.iter().map(|bucket| bucket.share).sum();
    let (videos, images): (Vec<&Bucket>, Vec<&Bucket>) =
        buckets.iter().partition(|bucket| bucket.frames > 1);
    let is_mixed = !videos.is_empty() && !images.is_empty();
    for (kind, of_kind) in [("image", images), ("video", videos)] {
        let share = of_kind.iter().map(|bucket| bucket.share).sum::<f64>() / all;
        let most = limits[kind].as_u64().unwrap_or(u64::MAX).max(1) as f64;
        let ratio = ratio.unwrap_or(0.0);
        let count = |items: f64| (items * share).round().clamp(1.0, most) as u64;
        let [least, most] = [
            count((items as f64 * (1.0 - ratio)).floor()),
            count((items as f64 * (1.0 + ratio)).ceil()),
        ];
        let number = drawn(least, most);
        let sizes: Vec<String> = of_kind.iter().map(|bucket| bucket.size()).collect();
        let sizes = sizes.join("|");
        let frames = of_kind.iter().map(|bucket| bucket.frames);
        match (kind, frames.clone().min(), frames.max()) {
            ("image", Some(_), _) => translator.push("images", format!("n={number},size={sizes}")),
            ("video", Some(least), Some(most)) => {
                let frames = drawn(u64::from(least), u64::from(most));
                let spec = format!("n={number},frames={frames},size={sizes},fps=30");
                translator.push("video", spec);
                translator.differs(
                    "videos are MP4 with Motion JPEG; vLLM encodes MPEG-4, so its files are of another size",
                );
            }
            _ => {}
        }
    }
    if is_mixed {
        translator.differs("each request has images and videos in these numbers; vLLM draws which");
    }
    translator.differs("sizes are drawn equally often");
    Ok(())
}

/// `(720, 1280, 16): 0.1`, without its first bracket.
struct Bucket {
    height: u32,
    width: u32,
    frames: u32,
    share: f64,
}

impl Bucket {
    fn of(text: &str) -> Option<Bucket> {
        let (size, share) = text.split_once(')').unwrap_or((text, ""));
        let mut numbers = size.split(',').map(|number| number.trim().parse().ok());
        let share = share.trim_start_matches([':', ' ', '"']);
        let share = share.split([',', '}', ' ']).next().unwrap_or_default();
        Some(Bucket {
            height: numbers.next()??,
            width: numbers.next()??,
            frames: numbers.next().flatten().unwrap_or(1),
            share: share.parse().unwrap_or(1.0),
        })
    }

    fn size(&self) -> String {
        format!("{}x{}", self.width, self.height)
    }
}

fn drawn(least: u64, most: u64) -> String {
    if least == most {
        most.to_string()
    } else {
        format!("uniform({least},{most})")
    }
}

/// What AIPerf makes: images and videos of one size, sounds of a mean length.
pub(super) fn of_aiperf(translator: &mut Translator) -> Result<(), TranslateError> {
    let width = translator.real("image-width-mean")?;
    let height = translator.real("image-height-mean")?;
    let images = translator.count("batch-size-image|image-batch-size")?;
    if let (Some(width), Some(height)) = (width, height) {
        let count = images.unwrap_or(1);
        translator.push("images", format!("n={count},size={width}x{height}"));
    }
    let source = translator.value("image-source");
    if let Some(source) = source.filter(|source| source != "noise") {
        translator.lacks(format!(
            "--image-source {source}: images are noise here; those of files go with the rows of --data"
        ));
    }
    let deviation = translator.real("image-width-stddev")?;
    let deviation = deviation.or(translator.real("image-height-stddev")?);
    if deviation.is_some_and(|deviation| deviation > 0.0) {
        translator.lacks("--image-width-stddev and --image-height-stddev: list the sizes, as in --images 'size=512x512|1280x720'");
    }
    videos_of_aiperf(translator)?;
    sounds_of_aiperf(translator)?;
    translator.skip(
        "image-format|image-source-sampling|video-format|video-codec|video-synth-type|video-audio-sample-rate|\
         video-audio-depth|video-audio-codec|audio-format|audio-sample-rates|audio-depths|\
         audio-num-channels",
    );
    Ok(())
}

fn videos_of_aiperf(translator: &mut Translator) -> Result<(), TranslateError> {
    let width = translator.count("video-width")?;
    let height = translator.count("video-height")?;
    let count = translator.count_or("batch-size-video|video-batch-size", 1)?;
    let seconds = translator.real("video-duration")?.unwrap_or(5.0);
    let fps = translator.count_or("video-fps", 4)?;
    let channels = translator.count("video-audio-num-channels")?;
    let (Some(width), Some(height)) = (width, height) else {
        return Ok(());
    };
    let frames = (seconds * fps as f64).round().max(1.0);
    translator.push(
        "video",
        format!("n={count},frames={frames},size={width}x{height},fps={fps}"),
    );
    translator.differs("videos are MP4 with Motion JPEG");
    if channels.is_some_and(|channels| channels > 0) {
        translator.lacks("--video-audio-num-channels: videos have no sound here; --audio sends sounds beside them");
    }
    Ok(())
}

/// Sounds of a mean length, which spreads by its deviation.
fn sounds_of_aiperf(translator: &mut Translator) -> Result<(), TranslateError> {
    let mean = translator.real("audio-length-mean")?;
    let deviation = translator.real("audio-length-stddev")?;
    let count = translator.count("batch-size-audio|audio-batch-size")?;
    if let Some(mean) = mean.filter(|mean| *mean > 0.0) {
        let count = count.unwrap_or(1);
        let mean = mean.round().max(1.0);
        // As wide as a normal distribution of that deviation.
        let half = (deviation.unwrap_or(0.0) * 3.0_f64.sqrt()).round();
        let seconds = match half {
            0.0 => mean.to_string(),
            half => format!("uniform({},{})", (mean - half).max(1.0), mean + half),
        };
        translator.push("audio", format!("n={count},seconds={seconds}"));
        translator.differs("sounds are WAV of 16 kHz and 16 bits, of whole seconds, and their lengths are spread evenly");
    }
    Ok(())
}

/// Pictures of `--data kind=synthetic_image` and `kind=synthetic_video`, by the fields of either.
pub(super) fn of_guidellm(
    translator: &mut Translator,
    kind: &str,
    mut field: impl FnMut(&str) -> Option<String>,
) {
    let resolution = field("resolution");
    let known = resolution.as_deref().and_then(|named| {
        let sizes = [
            ("240p", (426, 240)),
            ("360p", (640, 360)),
            ("480p", (854, 480)),
            ("540p", (960, 540)),
            ("720p", (1280, 720)),
            ("1080p", (1920, 1080)),
            ("1440p", (2560, 1440)),
            ("2160p", (3840, 2160)),
            ("4k", (3840, 2160)),
        ];
        let found = sizes
            .into_iter()
            .find(|(name, _)| *name == named.to_lowercase());
        found.map(|(_, size)| size)
    });
    let mut side = |name: &str| field(name)?.trim().parse::<u32>().ok();
    let width = side("width").or(known.map(|size| size.0));
    let height = side("height").or(known.map(|size| size.1));
    let (Some(width), Some(height)) = (width, height) else {
        return translator.lacks(format!(
            "--data kind={kind} without width and height: give --images or --video with size=1280x720"
        ));
    };
    if kind == "synthetic_image" {
        let count = side("images_per_request").unwrap_or(1);
        translator.push("images", format!("n={count},size={width}x{height}"));
    } else {
        let frames = side("frames").unwrap_or(1);
        let fps = field("fps").and_then(|fps| fps.trim().parse::<f64>().ok());
        let fps = fps.unwrap_or(1.0).round().max(1.0);
        let spec = format!("n=1,frames={frames},size={width}x{height},fps={fps}");
        translator.push("video", spec);
        translator.differs("videos are MP4 with Motion JPEG");
    }
    translator.differs("pictures are noise, new in each run");
}
