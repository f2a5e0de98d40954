"""Whether links make search better: hits raised for being linked to, or for links with the first hits.

    python benches/link_evidence.py FOLDER [FOLDER ...] [--mode auto|fts] [--questions FILE]

Asks the questions that `bearsearch eval --own` makes of each folder's notes, and orders the first 100 hits anew by
their score and a bonus: `in-degree` grows with the number of notes that link to a hit, `linked` is a share of the
score of the best of the first five hits that it has a link with. Links of notes with more than 100 count for neither.
Prints nDCG@10 by kind of question, and how likely chance makes a difference as large (paired permutation test).
`--questions` adds known items, a line of {"query", "kind", "relevant": [paths]} each, to a single folder. Uses the
folder's own index below $BEARSEARCH_HOME.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bearsearch import Index
from bearsearch.config import load_settings
from bearsearch.eval.metrics import ndcg_at_k, paired_p_value
from bearsearch.eval.own import own_queries
from bearsearch.types import Hit

DEPTH = 100
TOP = 5
MOST_LINKS = 100
FULL_DEGREE = 20
DEGREE_WEIGHTS = (0.02, 0.05, 0.1, 0.2)
LINKED_WEIGHTS = (0.05, 0.1, 0.2, 0.4)

Bonus = Callable[[Hit, Sequence[Hit]], float]


class Graph:
    """Which notes link to which, by id."""

    def __init__(self, index: Index) -> None:
        self.out: dict[str, set[str]] = defaultdict(set)
        self.incoming: dict[str, set[str]] = defaultdict(set)
        for note in index.list(limit=10**9).notes:
            walk = index.links(f"{note.source}:{note.id}", depth=1, direction="out", limit=10**9)
            for hop in walk.hops[0] if walk is not None and walk.hops else ():
                source, target = hop.from_note.partition(":")[2], hop.to_note.partition(":")[2]
                if source != target:
                    self.out[source].add(target)
                    self.incoming[target].add(source)
        self.lists = {note for note, targets in self.out.items() if len(targets) > MOST_LINKS}

    def degree(self, note: str) -> int:
        """How many notes link to it, lists of everything not counted."""
        return len(self.incoming.get(note, set()) - self.lists)

    def linked(self, one: str, other: str) -> bool:
        """Whether one of the two links to the other, and neither is a list of everything."""
        if one == other or {one, other} & self.lists:
            return False
        return other in self.out.get(one, ()) or one in self.out.get(other, ())


def bonuses(graph: Graph) -> Mapping[str, Bonus]:
    """What is tried, by name."""

    def by_degree(weight: float) -> Bonus:
        def bonus(hit: Hit, hits: Sequence[Hit]) -> float:
            share = min(1.0, math.log1p(graph.degree(hit.id)) / math.log(FULL_DEGREE))
            return weight * hits[0].score * share

        return bonus

    def by_link(weight: float) -> Bonus:
        def bonus(hit: Hit, hits: Sequence[Hit]) -> float:
            scores = (other.score for other in hits[:TOP] if graph.linked(hit.id, other.id))
            return weight * max(scores, default=0.0)

        return bonus

    tried: dict[str, Bonus] = {"as it is": lambda hit, hits: 0.0}
    tried |= {f"in-degree {weight}": by_degree(weight) for weight in DEGREE_WEIGHTS}
    return tried | {f"linked {weight}": by_link(weight) for weight in LINKED_WEIGHTS}


def measure(folder: Path, mode: str, questions: Path | None) -> None:
    """Print the table of one folder."""
    home = load_settings({}).data_path / f"link-evidence-{folder.name}.sqlite"
    with Index(home, vault=folder, semantic=mode != "fts") as index:
        index.sync()
        if mode != "fts":
            index.embed()
        graph = Graph(index)
        asked = [(query.text, dict(query.gains), query.kind or "") for query in own_queries(index)]
        for line in questions.read_text(encoding="utf-8").splitlines() if questions else ():
            item = json.loads(line)
            asked.append((item["query"], dict.fromkeys(item["relevant"], 1), f"asked, {item['kind']}"))
        tried = bonuses(graph)
        scores: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in tried}
        for text, gains, kind in asked:
            hits = index.search(text, mode=mode, limit=DEPTH, fresh=False).hits
            for name, bonus in tried.items():
                places = sorted(
                    range(len(hits)), key=lambda place: (-hits[place].score - bonus(hits[place], hits), place)
                )
                value = ndcg_at_k([hits[place].id for place in places], gains, k=10)
                for group in ("all", kind):
                    scores[name][group].append(value)
    links = sum(map(len, graph.out.values()))
    print(f"{folder.name}, mode {mode}: {len(asked)} questions, {links} links, {len(graph.incoming)} notes linked to")
    kinds = list(scores["as it is"])
    print(f"  {'':16}" + "".join(f"{kind:>18}" for kind in kinds) + f"{'p':>8}")
    for name, found in scores.items():
        p_value = paired_p_value(found["all"], scores["as it is"]["all"]) if name != "as it is" else None
        row = "".join(f"{statistics.mean(found[kind]):18.4f}" for kind in kinds)
        print(f"  {name:16}{row}" + ("" if p_value is None else f"{p_value:8.3f}"), flush=True)


def main() -> None:
    """Measure each folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--mode", choices=("auto", "fts"), default="fts")
    parser.add_argument("--questions", type=Path)
    given = parser.parse_args()
    for folder in given.folders:
        measure(folder.resolve(), given.mode, given.questions)


if __name__ == "__main__":
    main()
