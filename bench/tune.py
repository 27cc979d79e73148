"""Optuna's TPE on the landscapes of `bench/tune`, and the table of all searchers.

Optuna has the same start (trial 0 is the default), the same budget, and the same free refusals:
a point that the engine's rules refuse is asked for again and costs nothing. Crashes and missed
SLOs are told as violated constraints.
"""

import json
import pathlib
import statistics
import sys
import warnings

warnings.filterwarnings("ignore")
FAILED = 1e9  # violation of a setting that does not start
MOST_REFUSED = 1000  # refused proposals in a row


class Landscape:
    def __init__(self, path, bound):
        data = json.loads(pathlib.Path(path).read_text())
        self.flags, self.cells = data["flags"], data["cells"]
        self.limits = data["limits"] if bound == "slo" else None

    def cell(self, places):
        at = 0
        for flag in self.flags:
            at = at * len(flag["values"]) + places[flag["name"]]
        return self.cells[at]

    def outcome(self, cell):
        """The objective, and by how much the limits are missed."""
        if cell == "crashed":
            return 0.0, FAILED
        served = cell["served"]
        missed = 0.0
        if self.limits:
            seen = (served["ttft_ms"], served["tpot_ms"])
            missed = sum(max(v / limit - 1.0, 0.0) for v, limit in zip(seen, self.limits))
        return served["tokens_per_s"], missed


def optuna_course(landscape, default, seed, trials):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {}
    for flag in landscape.flags:
        count = len(flag["values"])
        distributions[flag["name"]] = (
            optuna.distributions.IntDistribution(0, count - 1)
            if flag["ordered"]
            else optuna.distributions.CategoricalDistribution(range(count))
        )
    sampler = optuna.samplers.TPESampler(
        seed=seed, multivariate=True, constraints_func=lambda trial: trial.user_attrs["violation"]
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(default)
    best, course, refused = 0.0, [], 0
    while len(course) < trials and refused < MOST_REFUSED:
        trial = study.ask(distributions)
        cell = landscape.cell(trial.params)
        if cell == "refused":
            refused += 1
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            continue
        refused = 0
        value, missed = landscape.outcome(cell)
        trial.set_user_attr("violation", [missed])
        study.tell(trial, value)
        best = max(best, value if missed == 0.0 else 0.0)
        course.append(best)
    return course


def trials_to_95(course, optimum):
    return next((at + 1 for at, best in enumerate(course) if best >= 0.95 * optimum), float("inf"))


def main():
    folder, ours, seeds, trials = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    try:
        import optuna  # noqa: F401
    except ImportError:
        optuna = None
    print("| landscape | bound by | default | random to 95 % | tpe to 95 % | optuna to 95 % | share | "
          f"best of {trials}: random | tpe | optuna |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for line in pathlib.Path(ours).read_text().splitlines():
        row = json.loads(line)
        optimum = row["optimum"]
        best = {name: statistics.median(c[min(len(c), trials) - 1] for c in row[name]) / optimum
                for name in ("random", "tpe")}
        reach = {name: statistics.median(trials_to_95(c, optimum) for c in row[name])
                 for name in ("random", "tpe")}
        theirs, theirs_to_95 = "–", "–"
        if optuna:
            path = pathlib.Path(folder) / row["file"]
            landscape = Landscape(path, row["bound"])
            courses = [optuna_course(landscape, row["default"], seed, trials)
                       for seed in range(seeds)]
            theirs = f"{statistics.median(c[-1] for c in courses) / optimum:.3f}"
            theirs_to_95 = f"{statistics.median(trials_to_95(c, optimum) for c in courses):g}"
        share = reach["tpe"] / reach["random"]
        print(f"| {row['landscape']} | {row['bound']} | {row['default_share']:.3f} | "
              f"{reach['random']:g} | {reach['tpe']:g} | {theirs_to_95} | {share:.2f} | {best['random']:.3f} | "
              f"{best['tpe']:.3f} | {theirs} |", flush=True)


if __name__ == "__main__":
    main()
