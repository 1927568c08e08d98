/** What the model is shown: what the tests said, and the files as they are. */
export type Question = { testOutput: string; files: Readonly<Record<string, string>> };

/** A file's new content. */
export type Edit = { path: string; content: string; why: string };

type Fix = { failure: RegExp; path: string; find: string; replace: string; why: string };

/** What the script knows. It sees one failure at a time, as somebody does who reads the first line that is red. */
const FIXES: readonly Fix[] = [
  {
    failure: /not ok - is in lower case/,
    path: "slug.sh",
    find: "| tr ' ' '-'",
    replace: "| tr '[:upper:]' '[:lower:]' | tr ' ' '-'",
    why: "Capitals are turned into small letters first.",
  },
  {
    failure: /not ok - has letters and digits alone/,
    path: "slug.sh",
    find: "| tr ' ' '-'",
    replace: "| tr -cs 'a-z0-9' '-' | sed 's/^-*//; s/-*$//'",
    why: "Whatever is no letter or digit becomes one hyphen, and none at the ends.",
  },
];

/**
 * Stands where a model would: replace this one function by a call of a provider's API, with the failing tests and the
 * files in the prompt. An empty answer means that it does not know what to do.
 */
export async function proposeEdits({ testOutput, files }: Question): Promise<Edit[]> {
  const fix = FIXES.find(
    ({ failure, path, find }) => failure.test(testOutput) && files[path]?.includes(find) === true,
  );
  if (fix === undefined) return [];
  const { path, find, replace, why } = fix;
  return [{ path, content: (files[path] ?? "").replace(find, () => replace), why }];
}
