import { join } from "node:path";
import { countLines, type FileSize } from "./count-lines.ts";
import { languageOf } from "./languages.ts";

export type LanguageTotal = { language: string; files: number; lines: number; bytes: number };

export type PartTotals = {
  files: number;
  lines: number;
  bytes: number;
  /** Files that are not text: counted as files and bytes, without lines. */
  binary_files: number;
  /** Most lines first. */
  languages: LanguageTotal[];
  longest_file: { path: string; lines: number } | null;
};

export type CountOptions = {
  signal: AbortSignal;
  /** Treated as if the system refused to read it. */
  failingFile?: string | undefined;
  /** Told after each file how many there have been. */
  onFile?: (done: number) => void;
};

/** The sums over some files of a repository. Rejects at the first file that cannot be read, naming it. */
export async function countFiles(
  root: string,
  paths: readonly string[],
  options: CountOptions,
): Promise<PartTotals> {
  const totals: PartTotals = {
    files: 0,
    lines: 0,
    bytes: 0,
    binary_files: 0,
    languages: [],
    longest_file: null,
  };
  const byLanguage = new Map<string, LanguageTotal>();
  for (const path of paths) {
    options.signal.throwIfAborted();
    const { bytes, lines } = await readSize(root, path, options.failingFile);
    totals.files += 1;
    totals.bytes += bytes;
    options.onFile?.(totals.files);
    if (lines === null) {
      totals.binary_files += 1;
      continue;
    }
    totals.lines += lines;
    if (lines > (totals.longest_file?.lines ?? 0)) totals.longest_file = { path, lines };
    const language = languageOf(path);
    const sum = byLanguage.get(language) ?? { language, files: 0, lines: 0, bytes: 0 };
    byLanguage.set(language, {
      language,
      files: sum.files + 1,
      lines: sum.lines + lines,
      bytes: sum.bytes + bytes,
    });
  }
  totals.languages = sortLanguages([...byLanguage.values()]);
  return totals;
}

async function readSize(root: string, path: string, failingFile: string | undefined): Promise<FileSize> {
  try {
    if (path === failingFile) throw new Error("the payload names it as the failing file");
    return await countLines(join(root, path));
  } catch (error) {
    throw new Error(`${path} cannot be read: ${reasonOf(error as Error)}`, { cause: error });
  }
}

/** The system's reason without the call and the whole path, which the caller has named already. */
const reasonOf = ({ message }: Error): string => message.replace(/, \w+( '.*')?$/s, "");

/** Most lines first; languages with as many by name. */
export const sortLanguages = (languages: LanguageTotal[]): LanguageTotal[] =>
  languages.sort((a, b) => b.lines - a.lines || (a.language < b.language ? -1 : 1));
