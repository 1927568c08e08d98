import type { Emitter } from "highlight.js";
import highlighter from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { Language } from "./language-of.ts";

export type HighlightRequest = { text: string; language: Language };
export type TokenKind = "keyword" | "string" | "number" | "name" | "comment";
/** A piece of a line and what it is; null is plain. */
export type Token = readonly [kind: TokenKind | null, text: string];

const LANGUAGES = {
  ...{ bash, c, css, diff, dockerfile, go, ini, java, javascript, json, makefile, markdown, python, ruby },
  ...{ rust, sql, typescript, xml, yaml },
} satisfies Record<Language, unknown>;

const KINDS: Record<string, TokenKind> = {
  ...{ keyword: "keyword", literal: "keyword", tag: "keyword", doctag: "keyword", operator: "keyword" },
  ...{ string: "string", regexp: "string", addition: "string", code: "string", quote: "string" },
  ...{ number: "number", symbol: "number", bullet: "number", meta: "number", deletion: "number" },
  ...{ title: "name", name: "name", attr: "name", attribute: "name", section: "name", type: "name" },
  ...{ built_in: "name", property: "name", variable: "name", "selector-tag": "keyword", link: "name" },
  comment: "comment",
};

/** Gathers pieces of text and what they are: the library's own makes HTML, which nothing here shall. */
class TokenEmitter implements Emitter {
  readonly tokens: Token[] = [];
  readonly #scopes: string[] = [];
  addText(text: string): void {
    if (text === "") return;
    const scope = this.#scopes.findLast((name) => KINDS[name.split(".", 1)[0] ?? ""] !== undefined);
    this.tokens.push([scope === undefined ? null : (KINDS[scope.split(".", 1)[0] ?? ""] ?? null), text]);
  }
  startScope(name: string): void {
    this.#scopes.push(name);
  }
  endScope(): void {
    this.#scopes.pop();
  }
  openNode(name: string): void {
    this.startScope(name);
  }
  closeNode(): void {
    this.endScope();
  }
  __addSublanguage(emitter: Emitter): void {
    if (emitter instanceof TokenEmitter) this.tokens.push(...emitter.tokens);
  }
  finalize(): void {
    this.#scopes.length = 0;
  }
  toHTML(): string {
    return "";
  }
}

const engine = highlighter.newInstance();
engine.configure({ __emitter: TokenEmitter });
for (const [name, definition] of Object.entries(LANGUAGES)) engine.registerLanguage(name, definition);

/** The text's lines as pieces, which joined are the text. */
export function highlightLines({ text, language }: HighlightRequest): Token[][] {
  const { _emitter: emitter } = engine.highlight(text, { language, ignoreIllegals: true });
  const lines: Token[][] = [[]];
  for (const [kind, piece] of emitter instanceof TokenEmitter ? emitter.tokens : ([[null, text]] as const))
    for (const [index, part] of piece.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push([kind, part]);
    }
  return lines;
}
