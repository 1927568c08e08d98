import { sortLanguages, type LanguageTotal, type PartTotals } from "./count-files.ts";
import type { Repository } from "./find-repository.ts";
import type { History } from "./history.ts";
import type { Part, PlannedPart } from "./plan-parts.ts";

/** The outcome of the run that counted one part. */
export type PartResult = PlannedPart & { run_id: string; attempts: number } & (
    | { status: "complete"; totals: PartTotals }
    | { status: "failed"; reason: string }
  );

type DirectoryReport = Part & { run_id: string; attempts: number } & (
    | ({ status: "complete" } & PartTotals)
    | { status: "failed"; reason: string; files: number }
  );

/** `report.json`. */
export type Report = {
  format: 1;
  generated_at: string;
  run_id: string;
  /** False when a directory is missing from the sums. */
  complete: boolean;
  repository: { name: string; path: string; head: string | null; branch: string | null; shallow: boolean };
  totals: {
    commits: number;
    authors: number;
    /** Files, lines and bytes of the directories that are complete. */
    files: number;
    lines: number;
    bytes: number;
    /** Files that git tracks and that are checked out, those of failed directories too. */
    tracked_files: number;
    directories: number;
    directories_failed: number;
  };
  history: History;
  directories: DirectoryReport[];
  /** Of the directories that are complete, most lines first. */
  languages: LanguageTotal[];
};

export type ReportInput = {
  repository: Repository;
  history: History;
  parts: readonly PartResult[];
  runId: string;
  generatedAt: Date;
};

export function composeReport({ repository, history, parts, runId, generatedAt }: ReportInput): Report {
  const { root, name, head, branch, shallow } = repository;
  const complete = parts.filter((part) => part.status === "complete");
  const sum = (of: (totals: PartTotals) => number): number =>
    complete.reduce((total, part) => total + of(part.totals), 0);
  return {
    format: 1,
    generated_at: generatedAt.toISOString(),
    run_id: runId,
    complete: complete.length === parts.length,
    repository: { name, path: root, head, branch, shallow },
    totals: {
      commits: history.commits,
      authors: history.authors,
      files: sum((totals) => totals.files),
      lines: sum((totals) => totals.lines),
      bytes: sum((totals) => totals.bytes),
      tracked_files: parts.reduce((total, part) => total + part.files, 0),
      directories: parts.length,
      directories_failed: parts.length - complete.length,
    },
    history,
    directories: parts.map(describePart),
    languages: addLanguages(complete.map((part) => part.totals.languages)),
  };
}

function describePart(part: PartResult): DirectoryReport {
  const { directory, recursive, run_id, attempts } = part;
  const head = { directory, recursive, run_id, attempts };
  if (part.status === "failed") return { ...head, status: "failed", reason: part.reason, files: part.files };
  return { ...head, status: "complete", ...part.totals };
}

function addLanguages(parts: readonly LanguageTotal[][]): LanguageTotal[] {
  const sums = new Map<string, LanguageTotal>();
  for (const { language, files, lines, bytes } of parts.flat()) {
    const sum = sums.get(language) ?? { language, files: 0, lines: 0, bytes: 0 };
    sums.set(language, {
      language,
      files: sum.files + files,
      lines: sum.lines + lines,
      bytes: sum.bytes + bytes,
    });
  }
  return sortLanguages([...sums.values()]);
}
