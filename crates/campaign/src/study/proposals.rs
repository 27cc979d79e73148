//! What to start next: the default, the presets, then the searcher's choice.

use super::confirmation::NextStart;
use super::definition::Study;
use super::observations::observations;
use crate::search::{Ask, Searcher};
use crate::space::{Point, Rules, starting_points};
use crate::trial::{Origin, Proposal, Trial};
use std::collections::BTreeSet;

impl Study {
    /// The next proposal, from the log alone: the default first, then presets, then what the
    /// searcher chooses. Absent once nothing is left. `next_id` is that of the log.
    pub fn propose(
        &self,
        searcher: &dyn Searcher,
        rules: &dyn Rules,
        trials: &[Trial],
        pending: &[Proposal],
        next_id: u64,
    ) -> Option<Proposal> {
        let had = |wanted: &Origin| {
            let ended = trials.iter().map(|trial| &trial.proposal.origin);
            ended
                .chain(pending.iter().map(|proposal| &proposal.origin))
                .any(|origin| origin == wanted)
        };
        if !had(&Origin::Default) {
            return Some(Proposal {
                id: next_id,
                origin: Origin::Default,
                flags: Point::default(),
                point: rules.defaults(&self.space),
                implied: None,
                repaired: None,
            });
        }
        let tried = |point: &Point| {
            let ended = trials.iter().map(|trial| &trial.proposal.point);
            let mut all = ended.chain(pending.iter().map(|proposal| &proposal.point));
            all.any(|other| other.same(point))
        };
        for start in starting_points(&self.space, rules) {
            let origin = Origin::Preset(start.name.to_owned());
            if !had(&origin) && !tried(&start.point) {
                return self.proposal(rules, next_id, origin, start.point);
            }
        }
        let past = observations(trials, &self.goal);
        let pending: Vec<Point> = pending
            .iter()
            .map(|proposal| proposal.point.clone())
            .collect();
        let point = searcher.next(&Ask {
            space: &self.space,
            rules,
            past: &past,
            pending: &pending,
            seed: self.seed,
        })?;
        self.proposal(rules, next_id, Origin::Search, point)
    }

    /// The next start of the last stage; absent once all are done.
    pub fn confirm(&self, rules: &dyn Rules, trials: &[Trial], next_id: u64) -> Option<Proposal> {
        let by_id = |id: u64| trials.iter().find(|trial| trial.proposal.id == id);
        Some(match self.last_stage.next(trials, &self.goal)? {
            NextStart::Repeat(start) => Proposal {
                id: next_id,
                origin: Origin::Confirm {
                    of: start.of,
                    round: Some(start.round),
                },
                ..by_id(start.of)?.proposal.clone()
            },
            NextStart::Trim { of, flags } => Proposal {
                id: next_id,
                origin: Origin::Trim { of },
                point: rules.values(&self.space, &flags),
                implied: Some(self.implied(rules, &flags)),
                flags,
                repaired: None,
            },
        })
    }

    /// A point that an outside searcher chose; absent if it is not in the space, or refused.
    pub fn admit(&self, rules: &dyn Rules, point: Point, next_id: u64) -> Option<Proposal> {
        let point = Some(point).filter(|point| self.space.contains(point))?;
        let point = rules.admit(&self.space, point).point()?;
        self.proposal(rules, next_id, Origin::Search, point)
    }

    fn proposal(
        &self,
        rules: &dyn Rules,
        id: u64,
        origin: Origin,
        point: Point,
    ) -> Option<Proposal> {
        let flags = self.space.flags(&point).ok()?;
        Some(Proposal {
            id,
            origin,
            implied: Some(self.implied(rules, &flags)),
            flags,
            point,
            repaired: None,
        })
    }

    /// Flags that say what the engine does by itself beside the others.
    fn implied(&self, rules: &dyn Rules, flags: &Point) -> BTreeSet<String> {
        let values = rules.values(&self.space, flags);
        let mut kept = flags.clone();
        for dimension in self.space.dimensions() {
            let mut left = kept.clone();
            left.0.remove(&dimension.name);
            if rules.values(&self.space, &left).same(&values) {
                kept = left;
            }
        }
        let names = flags.0.keys().cloned();
        names.filter(|name| !kept.0.contains_key(name)).collect()
    }
}
