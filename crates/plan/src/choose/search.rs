//! The search for the cheapest: what a deployment costs is known ever better, by a formula, by a
//! few simulated requests, by as many as it takes; the one that looks cheapest is looked at next.

use super::candidate::Candidate;
use super::sized::{Confirmed, Found, confirmed, deployment, screened};
use super::{Choice, Effort, Wish};
use crate::cores::on_all;
use std::cmp::Ordering;

/// Deployments that are screened, and confirmed, at most; and how many are looked at together.
pub const MOST_SCREENED: usize = 48;
pub const MOST_CONFIRMED: usize = 24;
const AT_A_TIME: usize = 4;

struct Entry<'a> {
    candidate: Candidate<'a>,
    /// Money for an hour, as far as it is known.
    cost: f64,
    known: Known,
}

enum Known {
    ByFormula,
    Screened(u64),
    Confirmed(Confirmed),
}

enum Looked {
    Screened(Found<u64>),
    Confirmed(Found<Confirmed>),
}

impl Entry<'_> {
    fn confirmed(&self) -> Option<Confirmed> {
        match self.known {
            Known::Confirmed(confirmed) => Some(confirmed),
            Known::ByFormula | Known::Screened(_) => None,
        }
    }

    /// The cheaper first; at one cost what may yet turn out better, then what is further from its
    /// limits.
    fn before(&self, other: &Self) -> Ordering {
        let strain = |it: &Self| it.confirmed().map(|it| it.strain);
        let (own, others) = (strain(self), strain(other));
        let by_cost = self.cost.total_cmp(&other.cost);
        by_cost.then_with(|| own.partial_cmp(&others).unwrap_or(Ordering::Equal))
    }
}

/// Finds the cheapest, and says in `choice` what became of the others.
pub(super) fn cheapest<'a>(wish: &Wish<'a>, hopeful: Vec<Candidate<'a>>, choice: &mut Choice) {
    let wanted = wish.wanted.max(1);
    let by_formula = |candidate: Candidate<'a>| Entry {
        cost: candidate.cost(candidate.least),
        candidate,
        known: Known::ByFormula,
    };
    let mut entries: Vec<Entry<'a>> = hopeful.into_iter().map(by_formula).collect();
    loop {
        entries.sort_by(Entry::before);
        only_best_budgets(&mut entries);
        let next = next(&entries, wanted, wish.effort, choice);
        if next.is_empty() {
            break;
        }
        let looked = on_all(next.len(), |place| {
            let entry = &entries[next[place]];
            match entry.known {
                Known::Screened(count) => {
                    Looked::Confirmed(confirmed(wish, &entry.candidate, count))
                }
                _ => Looked::Screened(screened(wish, &entry.candidate)),
            }
        });
        let mut gone = Vec::new();
        for (&place, looked) in next.iter().zip(looked) {
            let entry = &mut entries[place];
            let kept = match looked {
                Looked::Screened(found) => {
                    choice.screened += 1;
                    choice.count(found).map(|count| {
                        entry.cost = entry.candidate.cost(count);
                        entry.known = Known::Screened(count);
                    })
                }
                Looked::Confirmed(found) => {
                    choice.confirmed += 1;
                    choice.count(found).map(|found| {
                        entry.cost = entry.candidate.cost(found.count);
                        entry.known = Known::Confirmed(found);
                    })
                }
            };
            if kept.is_none() {
                gone.push(place);
            }
        }
        let mut place = 0..;
        entries.retain(|_| !place.next().is_some_and(|place| gone.contains(&place)));
    }
    let (mut found, open): (Vec<_>, Vec<_>) =
        (entries.into_iter()).partition(|entry| entry.confirmed().is_some());
    found.truncate(wanted);
    let dearest = found.get(wanted - 1).map(|last| last.cost);
    let may_be_cheaper = |entry: &&Entry<'_>| dearest.is_none_or(|last| entry.cost <= last);
    choice.in_doubt = open.iter().filter(may_be_cheaper).count();
    choice.left_out = open.len();
    let made = on_all(found.len(), |place| {
        let entry = &found[place];
        let count = entry.confirmed()?.count;
        deployment(wish, &entry.candidate, count)
    });
    choice.deployments = made.into_iter().flatten().collect();
}

/// Whom to look at: those that may come before the last that is wanted, as far as the limits go.
fn next(entries: &[Entry<'_>], wanted: usize, effort: Effort, choice: &Choice) -> Vec<usize> {
    let [most_screened, most_confirmed] = match effort {
        Effort::Limited => [MOST_SCREENED, MOST_CONFIRMED],
        Effort::Complete => [usize::MAX; 2],
    };
    let (mut screens, mut confirms) = (choice.screened, choice.confirmed);
    let mut found = 0;
    let mut open = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if found == wanted || open.len() == AT_A_TIME {
            break;
        }
        let (looks, most) = match entry.known {
            Known::Confirmed(_) => {
                found += 1;
                continue;
            }
            Known::ByFormula => (&mut screens, most_screened),
            Known::Screened(_) => (&mut confirms, most_confirmed),
        };
        if *looks < most {
            *looks += 1;
            open.push(place);
        }
    }
    open
}

/// Of deployments that differ in their token budget alone, the cheapest stays; at one cost the
/// first, which is the engine's own.
fn only_best_budgets(entries: &mut Vec<Entry<'_>>) {
    let mut place = 0;
    while place < entries.len() {
        if entries[place].confirmed().is_some() {
            let rest = entries.split_off(place + 1);
            let best = &entries[place].candidate;
            let others = rest.into_iter().filter(|it| !it.candidate.is_like(best));
            let others: Vec<_> = others.collect();
            entries.extend(others);
        }
        place += 1;
    }
}

impl Choice {
    /// What was found, or its place among those that are not.
    fn count<T>(&mut self, found: Found<T>) -> Option<T> {
        match found {
            Found::Sized(found) => return Some(found),
            Found::NeverMet => self.never_met += 1,
            Found::TooFewCards => self.too_few_cards += 1,
            Found::OnlyByEstimate => self.only_by_estimate += 1,
            Found::Refused(reason) => {
                self.refused += 1;
                self.first_refusal.get_or_insert(reason);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::Offer;
    use crate::predict::Subject;
    use inferometer_catalog::engine::EngineKind;
    use inferometer_catalog::model::Model;

    #[test]
    fn a_complete_search_goes_on_where_a_limited_one_ends() {
        let offer = Offer {
            name: "h100".to_owned(),
            card: "h100".parse().unwrap(),
            price_per_hour: 1.0,
            most: None,
        };
        let entry = || Entry {
            candidate: Candidate {
                offer: &offer,
                subject: Subject {
                    model: Model::named("llama-3.1-8b").unwrap(),
                    device: offer.card.device.clone(),
                    cards: 1,
                    engine: EngineKind::Vllm,
                    version: None,
                    split: None,
                },
                flags: Vec::new(),
                least: 1,
            },
            cost: 1.0,
            known: Known::ByFormula,
        };
        let choice = Choice {
            screened: MOST_SCREENED,
            confirmed: MOST_CONFIRMED,
            ..Choice::default()
        };
        let mut screened = entry();
        screened.known = Known::Screened(1);
        let entries = [entry(), screened];
        let looked_at = |effort| next(&entries, 1, effort, &choice);
        assert!(looked_at(Effort::Limited).is_empty());
        assert_eq!(looked_at(Effort::Complete), [0, 1]);
    }
}
