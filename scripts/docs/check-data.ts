// Blocks of JSON and YAML: they can be read.

import { parseAllDocuments } from "yaml";
import type { Finding } from "./finding.ts";
import { placeOf, type Block } from "./read-pages.ts";

export function checkData(block: Block): Finding[] {
  const place = placeOf(block);
  if (block.language === "json") {
    try {
      JSON.parse(block.text);
      return [];
    } catch (error) {
      return [{ place, message: (error as Error).message }];
    }
  }
  const documents = parseAllDocuments(block.text);
  if (documents.length === 0) return [{ place, message: "the YAML is empty" }];
  return [...documents].flatMap(({ errors }) => errors.map(({ message }) => ({ place, message })));
}
