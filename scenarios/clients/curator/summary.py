#!/usr/bin/env python3
"""Sums up results of `batch`: per recipe, in how many runs each promise was broken. summary.py FILE..."""
import json, sys, collections
for name in sys.argv[1:]:
    runs = [json.loads(line) for line in open(name) if line.strip()]
    ok = [run for run in runs if "recipes" in run]
    print(f"{name}: {len(runs)} runs, {len(runs) - len(ok)} without a result, "
          f"{sum(1 for r in ok if r['violation'])} with a violation by the ensemble")
    totals, broken, seeds = collections.defaultdict(collections.Counter), collections.Counter(), collections.defaultdict(list)
    for run in ok:
        for recipe, tally in run["recipes"].items():
            for what, count in tally.items():
                if what == "evidence": continue
                totals[recipe][what] += count
                if what.startswith("broken"):
                    broken[recipe, what] += 1
                    seeds[recipe, what].append(run["seed"])
    for recipe in sorted(totals):
        counts = {k: v for k, v in totals[recipe].items() if not k.startswith("broken")}
        print(f"  {recipe}: {counts}")
        for (r, what), runs_broken in sorted(broken.items()):
            if r == recipe: print(f"      {what}: {runs_broken} runs, seeds {seeds[r, what][:14]}")
    for run in ok:
        if run["violation"]: print("  violation, seed", run["seed"], json.dumps(run["violation"])[:600])
