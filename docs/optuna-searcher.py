#!/usr/bin/env python3
"""A searcher for `inferometer tune` that asks Optuna: JSON lines on stdin and stdout.

In a study:

    [search]
    command = "python3 docs/optuna-searcher.py"

Needs `pip install optuna`. The tuner sends one `study`, a `tell` for every trial that ended
(those of an earlier run too) and `ask`s; every `ask` is answered with one `point`, within ten
minutes.
"""

import json
import sys
import warnings

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
# constraints_func is what every Optuna from 3 to 5 understands; 5 warns that it will go.
warnings.filterwarnings("ignore", category=FutureWarning)
FAILED = 1e9  # violation of a trial that did not live


def distribution(flag):
    if flag["ordered"]:
        # The place in the list: equal steps count alike, as they do for the tuner.
        return optuna.distributions.IntDistribution(0, len(flag["values"]) - 1)
    return optuna.distributions.CategoricalDistribution(range(len(flag["values"])))


def place(flag, value):
    """Where a value stands in the list of its flag; the nearest for a default beside it."""
    if value in flag["values"]:
        return flag["values"].index(value)
    if not flag["ordered"] or isinstance(value, (bool, str)):
        return None
    return min(range(len(flag["values"])), key=lambda at: abs(flag["values"][at] - value))


class Searcher:
    def __init__(self, study):
        self.space = {flag["flag"]: flag for flag in study["space"]}
        self.distributions = {name: distribution(flag) for name, flag in self.space.items()}
        self.objectives = study["objectives"]
        sampler = optuna.samplers.TPESampler(
            seed=study["seed"],
            multivariate=True,
            constant_liar=True,
            constraints_func=lambda trial: trial.user_attrs["violation"],
        )
        self.study = optuna.create_study(
            directions=["maximize"] * self.objectives, sampler=sampler
        )
        self.waiting = {}

    def ask(self):
        trial = self.study.ask(self.distributions)
        point = {name: flag["values"][trial.params[name]] for name, flag in self.space.items()}
        self.waiting.setdefault(json.dumps(point, sort_keys=True), []).append(trial)
        return point

    def tell(self, told):
        measured = told["outcome"] == "measured"
        values = told["objectives"] if measured else [-FAILED] * self.objectives
        violation = [told["violation"] if measured else FAILED]
        asked = self.waiting.get(json.dumps(told["point"], sort_keys=True))
        if asked:
            trial = asked.pop()
            trial.set_user_attr("violation", violation)
            self.study.tell(trial, values)
            return
        places = {name: place(flag, told["point"].get(name)) for name, flag in self.space.items()}
        if all(at is not None for at in places.values()):
            self.study.add_trial(
                optuna.trial.create_trial(
                    params=places,
                    distributions=self.distributions,
                    values=values,
                    user_attrs={"violation": violation},
                    system_attrs={"constraints": violation},
                )
            )


def main():
    searcher = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "study":
            searcher = Searcher(message)
        elif message["type"] == "tell":
            searcher.tell(message)
        elif message["type"] == "ask":
            answer = {"type": "point", "point": searcher.ask()}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
