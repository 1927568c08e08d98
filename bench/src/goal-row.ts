/** Every figure of one round by its name; a measurement that failed or was left out has none. */
export type Round = Record<string, number>;

/** One line of the printed table: a figure, what it is held against, and how far it must go. */
export type GoalRow = {
  id: string;
  what: string;
  figure: string;
  unit: string;
  /** What is compared with the bound, taken run by run. Absent: the figure itself. */
  compare?: { label: string; of(round: Round): number };
  /** Absent: printed for its own sake. */
  bound?: { atLeast: number } | { atMost: number };
};

export const ratio = (figure: string, base: string, label: string): NonNullable<GoalRow["compare"]> => ({
  label: `× ${label}`,
  of: (round) => (round[figure] ?? Number.NaN) / (round[base] ?? Number.NaN),
});
