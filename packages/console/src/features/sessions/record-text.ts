/** What a record says in words, when it is or holds a text; what it says beside that. */
export type Said = {
  text: string;
  /** The other fields of an object, such as its `type`. */
  rest: Record<string, unknown>;
  /** It may be a piece of a longer text: pieces of one answer are shown as one. */
  isPiece: boolean;
};

/** Where objects usually hold their text. */
const TEXT_FIELDS = ["text", "content", "delta"] as const;
const MAX_OTHER_FIELDS = 4;
const MAX_OTHER_CHARACTERS = 200;
/** How the author of a stream says that an object is one of many. */
const PIECE = /piece|delta|chunk|part|token/i;

/** Null for what is shown as JSON. */
export function readSaid(data: unknown): Said | null {
  if (typeof data === "string") return { text: data, rest: {}, isPiece: true };
  if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
  const fields = data as Record<string, unknown>;
  const name = TEXT_FIELDS.find((field) => typeof fields[field] === "string");
  if (name === undefined) return null;
  const { [name]: text, ...rest } = fields;
  if (Object.keys(rest).length > MAX_OTHER_FIELDS || !Object.values(rest).every(isBrief)) return null;
  const kind = rest["type"];
  const isPiece = name === "delta" || (typeof kind === "string" && PIECE.test(kind));
  return { text: text as string, rest, isPiece };
}

const isBrief = (value: unknown): boolean =>
  typeof value === "string"
    ? value.length <= MAX_OTHER_CHARACTERS
    : value === null || typeof value === "number" || typeof value === "boolean";
