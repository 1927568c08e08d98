import { openApiDocument } from "../../../src/http/openapi/document.ts";
import { routes } from "../../../src/http/routes.ts";

// The document is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
export type Any = any;

export const document = openApiDocument(routes) as Any;

export const operations = Object.entries<Any>(document.paths).flatMap(([path, item]) =>
  Object.entries<Any>(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    operation,
  })),
);
