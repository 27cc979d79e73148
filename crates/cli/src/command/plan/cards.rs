//! Cards as `plan` is told of them: `h200`, `h200:8`, `h200:8@3.5`, presets several with commas.

use anyhow::bail;
use inferometer_plan::device::{Card, Timed};
use std::collections::BTreeMap;

const FORM: &str = "write it as in h200:8@3.5 (card, how many, price of one in an hour)";

/// A kind of card.
pub(super) struct AskedCards {
    /// As it was named.
    pub name: String,
    pub card: Card,
    pub count: Option<u32>,
    /// Of one, in an hour.
    pub price: Option<f64>,
}

/// A list of presets may be given at once; numbers of one card have commas of their own.
pub(super) fn names(text: &str) -> Vec<&str> {
    if text.contains('=') {
        vec![text]
    } else {
        text.split(',').collect()
    }
}

/// All that were named, whose times can be predicted.
pub(super) fn asked(texts: &[String]) -> anyhow::Result<Vec<AskedCards>> {
    texts.iter().flat_map(|text| names(text)).map(one).collect()
}

fn one(text: &str) -> anyhow::Result<AskedCards> {
    let asked = counted(text)?;
    if asked.card.timed == Timed::MemoryOnly {
        bail!("--device {text}: predictions need the card's bandwidth= and half=");
    }
    Ok(asked)
}

/// A card whose memory is known, and how many there are.
pub(super) fn counted(text: &str) -> anyhow::Result<AskedCards> {
    let (named, price) = match text.rsplit_once('@') {
        None => (text, None),
        Some((named, price)) => match price.parse::<f64>() {
            Ok(price) if price.is_finite() && price > 0.0 => (named, Some(price)),
            _ => bail!("--device {text}: the price '{price}' is not a number above 0; {FORM}"),
        },
    };
    let (name, count) = match named.rsplit_once(':') {
        None => (named, None),
        Some((name, count)) => match count.parse() {
            Ok(count) if count > 0 => (name, Some(count)),
            _ => {
                bail!("--device {text}: '{count}' is not a number of cards; write it as in h200:8")
            }
        },
    };
    let card: Card = match name.parse() {
        Ok(card) => card,
        Err(error) => bail!("--device {text}: {error}"),
    };
    Ok(AskedCards {
        name: name.to_owned(),
        card,
        count,
        price,
    })
}

impl AskedCards {
    /// Its price, where none is not enough.
    pub fn needed_price(&self) -> anyhow::Result<f64> {
        match self.price {
            Some(price) => Ok(price),
            None => bail!("--device {} has no price; {FORM}", self.name),
        }
    }
}

/// Refuses fewer cards than the flags divide the model among.
pub(super) fn enough(name: &str, count: Option<u32>, own: u32) -> anyhow::Result<()> {
    if let Some(count) = count.filter(|&count| own > count) {
        bail!(
            "--device {name}:{count}: the flags divide the model among {own} cards; offer as many, or divide it less"
        );
    }
    Ok(())
}

/// Refuses a card that is offered more than once, under whichever of its names.
pub(super) fn each_once(asked: &[AskedCards]) -> anyhow::Result<()> {
    for (place, cards) in asked.iter().enumerate() {
        let mut before = asked[..place].iter();
        if let Some(other) = before.find(|other| other.card == cards.card) {
            bail!(
                "--device {}: it is offered twice (as {}, too); offer it once, with one number and one price",
                cards.name,
                other.name
            );
        }
    }
    Ok(())
}

/// The prices of those that have one. A card has one price.
pub(super) fn prices(asked: &[AskedCards]) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut prices = BTreeMap::new();
    for cards in asked {
        let Some(price) = cards.price else {
            continue;
        };
        if prices
            .insert(cards.name.clone(), price)
            .is_some_and(|known| known != price)
        {
            bail!(
                "--device {}: it is given two prices; give it one",
                cards.name
            );
        }
    }
    Ok(prices)
}
