import { isAlike, type BornLease, type NewRun } from "./new-run.ts";

export type RunInsert = { run: NewRun; lease: BornLease | null };

/** Runs that differ only in what nearly every run has of its own. */
type Group = {
  model: NewRun;
  /** The place of its first and last run among all, counted from 1. */
  first: number;
  last: number;
};

/** The runs of a batch in the order of their groups. */
export type GroupedInserts = { inserts: readonly RunInsert[]; groups: readonly Group[] };

/** How many groups of an environment are compared with. More only make the statement longer, so nothing is lost. */
const MAX_COMPARED = 16;

/** Puts runs together that are of the same environment, entrypoint, deployment and so on: nearly all of a batch are. */
export function groupInserts(inserts: readonly RunInsert[]): GroupedInserts {
  const groups: RunInsert[][] = [];
  const byEnvironment = new Map<string, RunInsert[][]>();
  for (const insert of inserts) {
    const { environmentId } = insert.run;
    let own = byEnvironment.get(environmentId);
    if (own === undefined) byEnvironment.set(environmentId, (own = []));
    const group = own.find(([model]) => model !== undefined && isAlike(model.run, insert.run));
    if (group !== undefined) {
      group.push(insert);
      continue;
    }
    const added = [insert];
    groups.push(added);
    own.push(added);
    if (own.length > MAX_COMPARED) own.shift();
  }
  let last = 0;
  return {
    inserts: groups.length === 1 ? inserts : groups.flat(),
    groups: groups.map((group): Group => {
      const first = last + 1;
      last += group.length;
      return { model: (group[0] as RunInsert).run, first, last };
    }),
  };
}
