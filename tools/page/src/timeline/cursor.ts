// From bar to bar by keys: which bar of a row is the next one.

import { firstEnding } from "./cells.ts";
import type { Found } from "./found.ts";
import type { Rows } from "./rows.ts";

/** What comes after (1) or before (-1) a bar, or an instant, in its row: the bar's begin and its task, -1 where it is none. */
export function nextBar(
  rows: Rows,
  from: Found,
  direction: 1 | -1,
): { at: number; end: number } | undefined {
  const place = rows.places[from.rows[0]]!;
  if (rows.places[from.rows[1]]! - place !== 1) return undefined;
  if (rows.tasks) {
    const { first, begin, end } = rows.tasks.tasks;
    let task = from.task >= 0 ? from.task + direction : firstEnding(rows.tasks, place, from.instant);
    if (from.task < 0 && direction < 0) task--;
    if (task < first[place]! || task >= first[place + 1]!) return undefined;
    return { at: begin.at(task), end: end.at(task) };
  }
  const bars = rows.full!;
  const here = from.job >= 0 ? bars.find(from.instant, place) : -1;
  const origin = here >= 0 ? bars.begin[here]! : from.instant;
  let best = -1;
  for (let bar = 0; bar < bars.begin.length; bar++) {
    if (bars.lo[bar]! > place || bars.hi[bar]! <= place) continue;
    const begin = bars.begin[bar]!;
    if (direction > 0 && begin > origin) return { at: begin, end: bars.end[bar]! };
    if (direction < 0 && begin < origin) best = bar;
    if (begin > origin) break;
  }
  return best < 0 ? undefined : { at: bars.begin[best]!, end: bars.end[best]! };
}

/** The words for a place in one sentence. */
export function sentence(lines: [string, string][]): string {
  return lines.map(([name, value]) => (name ? `${name} ${value}` : value)).join("; ");
}
