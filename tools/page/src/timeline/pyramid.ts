// Tasks aggregated ahead: above each core's tasks, in the order of time, a level of every eight of them, a level of every eight
// of these, and so on. What is drawn of a core are a few nodes for each column of pixels, however many tasks there are.
//
// A node knows when its first task begins and its last one ends, for how long there were tasks, and a vote among the jobs (Boyer
// and Moore): a job that has more than half of the node's time wins it, whatever the others are. Votes of nodes can be joined.

import type { Tasks } from "./data.ts";

export const BRANCHES = 8;

export interface Level {
  first: Int32Array; // node of each core, and one beyond the last
  begin: Float64Array;
  end: Float64Array;
  busy: Float64Array;
  job: Int32Array;
  vote: Float64Array;
}

export class Pyramid {
  readonly levels: Level[] = [];

  constructor(readonly tasks: Tasks) {
    const cores = tasks.first.length - 1;
    let below = tasks.first;
    let most = Infinity;
    while (most > 1) {
      const first = new Int32Array(cores + 1);
      most = 0;
      for (let core = 0; core < cores; core++) {
        const nodes = Math.ceil((below[core + 1]! - below[core]!) / BRANCHES);
        most = Math.max(most, nodes);
        first[core + 1] = first[core]! + nodes;
      }
      const level = this.#level(first, below);
      this.levels.push(level);
      below = first;
    }
  }

  #level(first: Int32Array, below: Int32Array): Level {
    const nodes = first[first.length - 1]!;
    const level: Level = {
      first,
      begin: new Float64Array(nodes),
      end: new Float64Array(nodes),
      busy: new Float64Array(nodes),
      job: new Int32Array(nodes),
      vote: new Float64Array(nodes),
    };
    const under = this.levels[this.levels.length - 1];
    const { begin, end, job } = this.tasks;
    for (let core = 0; core + 1 < first.length; core++) {
      for (let node = first[core]!; node < first[core + 1]!; node++) {
        const from = below[core]! + (node - first[core]!) * BRANCHES;
        const to = Math.min(from + BRANCHES, below[core + 1]!);
        let busy = 0;
        let winner = -1;
        let vote = 0;
        for (let child = from; child < to; child++) {
          const time = under ? under.busy[child]! : end.at(child) - begin.at(child);
          const votes = under ? under.vote[child]! : time;
          const voter = under ? under.job[child]! : job[child]!;
          busy += time;
          if (voter === winner) vote += votes;
          else if (vote >= votes) vote -= votes;
          else {
            winner = voter;
            vote = votes - vote;
          }
        }
        level.begin[node] = under ? under.begin[from]! : begin.at(from);
        level.end[node] = under ? under.end[to - 1]! : end.at(to - 1);
        level.busy[node] = busy;
        level.job[node] = winner;
        level.vote[node] = vote;
      }
    }
    return level;
  }
}
