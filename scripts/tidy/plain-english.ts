// Wordings that people who read English as a second language stumble over. This list is a floor, not the goal.
import { parseSync, visitorKeys } from "oxc-parser";
import type { Finding, Repository } from "./repository.ts";
import type { RepositoryFile } from "./read-source.ts";

/** What is not written, and what is written instead. */
const REFUSED: readonly { pattern: RegExp; instead: string }[] = [
  // "When there is none" is plain; "a path that is none" is not.
  { pattern: /(?<!\bthere )\bis none\b/i, instead: "say what the thing is not: “is not a URL”" },
  { pattern: /\bsuch an? one\b/i, instead: "repeat the noun" },
  { pattern: /\banew\b/i, instead: "again" },
  { pattern: /\bfor ever\b/i, instead: "forever" },
  { pattern: /\bby itself\b/i, instead: "on its own, or automatically" },
  { pattern: /\bwhat became of\b/i, instead: "the outcome of" },
  { pattern: /\bgood for nothing\b/i, instead: "expired, or not valid" },
  { pattern: /\blet(s|ting)? go of\b/i, instead: "release" },
  { pattern: /\blook(s|ing)? for company\b/i, instead: "name what is waited for" },
  { pattern: /\b(is|are) like that\b/i, instead: "“match these filters”" },
  { pattern: /\b(link|key|token|code) (that )?is good for\b/i, instead: "is valid for, or expires after" },
  { pattern: /\bbrought back\b/i, instead: "restored, or “You cannot undo this”" },
  { pattern: /\bnothing at all\b/i, instead: "say what is shown or done" },
  {
    // "Runs a second time" counts; "requests a second" is a rate.
    pattern:
      /(\b\d[\d,.]*|\b(bytes|calls|connections|events|inserts|lines|messages|records|requests|rows|runs|starts|times)) an? (second|minute|hour|day|week|month|year)\b(?! time)/i,
    instead: "“per”, as in “requests per second”",
  },
];

const PAGE = /\.md$/;
/** Decisions are dated records; the changelog tells what was said of a release. */
const LEFT_AS_WRITTEN = /^(CHANGELOG\.md|docs\/decisions\/)/;
const SOURCE = /^packages\/[^/]+\/src\/.*\.tsx?$/;
/** Doc comments that editors show to users, and that become the reference. */
const PUBLIC_COMMENTS = /^packages\/(sdk|contract)\/src\//;

/** A term that has such a word in it: where, and why it stays. */
const TERMS: readonly { path: RegExp; text: RegExp; why: string }[] = [];

type Passage = { text: string; start: number };
type Node = { type: string; start: number; [key: string]: unknown };

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;

/** Texts of a program that people may read: strings, templates, and text between tags. */
function* textsOf(node: Node): Generator<Passage> {
  const { type, start, value } = node;
  if ((type === "Literal" || type === "JSXText") && typeof value === "string") yield { text: value, start };
  if (type === "TemplateElement") yield { text: (value as { raw: string }).raw, start };
  for (const key of visitorKeys[type] ?? [])
    for (const child of [node[key]].flat()) if (isNode(child)) yield* textsOf(child);
}

function passagesOf({ path, text }: RepositoryFile): Passage[] {
  if (PAGE.test(path)) return [{ text, start: 0 }];
  const { program, comments } = parseSync(path, text);
  const shown = [...textsOf(program as unknown as Node)];
  if (!PUBLIC_COMMENTS.test(path)) return shown;
  const docs = comments.filter(({ type, value }) => type === "Block" && value.startsWith("*"));
  return [...shown, ...docs.map(({ value, start }) => ({ text: value, start }))];
}

/** A wording may go on in the next line, of a doc comment too. */
const PATTERNS = REFUSED.map(({ pattern, instead }) => ({
  pattern: new RegExp(pattern.source.replaceAll(" ", String.raw`\s+(?:\*\s+)?`), "gi"),
  instead,
}));

const isRead = (path: string): boolean =>
  !LEFT_AS_WRITTEN.test(path) && (PAGE.test(path) || (SOURCE.test(path) && !path.includes(".test.")));

/** Pages, texts of programs and public doc comments that use a refused wording. */
export function checkWords(repository: Repository): Finding[] {
  return repository.files
    .filter(({ path }) => isRead(path))
    .flatMap((file) =>
      passagesOf(file).flatMap(({ text, start }) =>
        PATTERNS.flatMap(({ pattern, instead }) =>
          [...text.matchAll(pattern)]
            .filter(([found]) => !isTerm(file.path, found))
            .map(({ 0: found, index }) => ({
              path: file.path,
              line:
                file.text.slice(0, start).split("\n").length + text.slice(0, index).split("\n").length - 1,
              message: `says “${found.replaceAll(/\s+/g, " ")}”: write ${instead}`,
            })),
        ),
      ),
    );
}

function isTerm(path: string, found: string): boolean {
  return TERMS.some((term) => term.path.test(path) && term.text.test(found));
}
