//! Other values of a flag that the best needs which trials found as good: what is needed is then
//! any of them.

use super::{StudyReport, named, outcome};
use inferometer_campaign::space::{Point, Value};
use inferometer_campaign::study::Effect;
use inferometer_message::StudyText;
use inferometer_page::doc::Pair;

/// Share by which two starts of one configuration differ anyhow.
const ALIKE: f64 = 0.01;

/// Values in place of those of the best, all else alike.
pub(super) fn values(report: &StudyReport<'_>) -> Option<Pair> {
    let lang = report.lang;
    let result = report.result;
    let trimming = result.trimming.as_ref()?;
    let best = result.best.as_ref()?;
    let objective = |trial: u64| {
        let row = result.trials.iter().find(|row| row.id == trial)?;
        *row.objectives.first()?
    };
    let of_best = objective(best.trial)?;
    // What makes no difference may be anything; what makes one beside some values, or does with
    // others than the best's, may make up for what is asked here.
    let is_idle = |name: &String| {
        let mut lines = result.importance.iter();
        let line = lines.find(|line| line.flag == *name);
        line.is_none_or(|line| line.effect == Effect::None)
    };
    let is_free = |name: &String| {
        let is_left_out = trimming.left_out.0.contains_key(name) && is_idle(name);
        is_left_out || report.study.unmodelled.contains(name)
    };
    let value = |flags: &Point, name: &String| -> Option<Value> {
        let given = flags.0.get(name).or_else(|| result.defaults.get(name));
        given.cloned()
    };
    let mut as_good: Vec<String> = Vec::new();
    for needed in &trimming.needed {
        let rivals = result.trials.iter().filter(|row| {
            let mut names = row.flags.0.keys().chain(best.flags.0.keys());
            names.all(|name| {
                let is_same = value(&row.flags, name) == value(&best.flags, name);
                (*name == needed.flag) != is_same || (is_free(name) && *name != needed.flag)
            })
        });
        for row in rivals.filter(|row| outcome(row) == StudyText::Done) {
            let figure = row.objectives.first().copied().flatten();
            let is_alike =
                figure.is_some_and(|figure| (figure - of_best).abs() <= ALIKE * of_best.abs());
            let other = value(&row.flags, &needed.flag).filter(|_| is_alike);
            let told = other.map(|value| named(&needed.flag, &value));
            as_good.extend(told.filter(|told| !as_good.contains(told)));
        }
    }
    as_good.sort();
    let values = [("values", as_good.join(", "))];
    let text = StudyText::AsGoodValues.with(lang, &values);
    (!as_good.is_empty()).then(|| Pair::new(StudyText::AsGood.text(lang), text))
}
