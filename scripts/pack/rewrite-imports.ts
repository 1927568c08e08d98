import { parseSync } from "oxc-parser";

type Span = { start: number; end: number; value: string };

/** `import("…")` in a type; the parser lists only those of values. */
const TYPE_IMPORT = /\bimport\("([^"]+)"\)/g;

function findSpecifiers(file: string, text: string): Span[] {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const spans: Span[] = [...module.staticImports.map((found) => found.moduleRequest)];
  for (const { entries } of module.staticExports)
    for (const { moduleRequest } of entries) if (moduleRequest) spans.push(moduleRequest);
  for (const { moduleRequest } of module.dynamicImports) {
    // `import(name)` of a computed name has no text to rewrite.
    const value = /^["']([^"']+)["']$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[1];
    if (value !== undefined) spans.push({ ...moduleRequest, value });
  }
  if (file.endsWith(".d.ts"))
    for (const match of text.matchAll(TYPE_IMPORT)) {
      const start = match.index + "import(".length;
      spans.push({ start, end: start + (match[1] as string).length + 2, value: match[1] as string });
    }
  const byStart = new Map(spans.map((span) => [span.start, span]));
  return [...byStart.values()].toSorted((a, b) => b.start - a.start);
}

/**
 * A module's text with other specifiers of imports and exports. `change` gives the new specifier. Only specifiers change:
 * text that looks like an import, such as code in a string, stays.
 */
export function rewriteImports(file: string, text: string, change: (specifier: string) => string): string {
  let rewritten = text;
  for (const { start, end, value } of findSpecifiers(file, text))
    rewritten = `${rewritten.slice(0, start)}${JSON.stringify(change(value))}${rewritten.slice(end)}`;
  return rewritten;
}
