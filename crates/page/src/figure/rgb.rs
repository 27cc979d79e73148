//! Colours as numbers, to mix them and to tell light from dark.

/// Red, green and blue, from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rgb(pub(super) [f64; 3]);

impl Rgb {
    /// From `#rrggbb`.
    pub(super) fn of(hex: &str) -> Self {
        let digits = hex.trim_start_matches('#');
        let part = |at: usize| {
            let pair = digits.get(at..at + 2).unwrap_or("00");
            f64::from(u8::from_str_radix(pair, 16).unwrap_or(0))
        };
        Rgb([part(0), part(2), part(4)])
    }

    /// As `#rrggbb`.
    pub(super) fn hex(self) -> String {
        let [r, g, b] = self.0.map(|part| part.round().clamp(0.0, 255.0) as u8);
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// Between two colours: `share` of the way to the other.
    pub(super) fn towards(self, other: Rgb, share: f64) -> Rgb {
        let mut parts = self.0;
        for (part, goal) in parts.iter_mut().zip(other.0) {
            *part += (goal - *part) * share;
        }
        Rgb(parts)
    }

    pub(super) fn words(self) -> &'static str {
        if self.is_light() {
            "#1f2328"
        } else {
            "#ffffff"
        }
    }

    /// Whether dark text reads better on it: by the ratio of luminances, as WCAG counts them.
    pub(super) fn is_light(self) -> bool {
        let linear = self.0.map(|part| (part / 255.0).powf(2.2));
        let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        luminance > 0.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_read_back_and_mix() {
        assert_eq!(Rgb::of("#0072b2").hex(), "#0072b2");
        let grey = Rgb::of("#000000").towards(Rgb::of("#ffffff"), 0.5);
        assert_eq!(grey.hex(), "#808080");
        assert!(Rgb::of("#ffffff").is_light() && !Rgb::of("#0072b2").is_light());
    }
}
