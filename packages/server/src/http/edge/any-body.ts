import type { FastifyInstance } from "fastify";
import type { Route } from "./route.ts";

/** As the type of a raw body: callers that do not ask us send whatever they send. */
export const ANY_MEDIA_TYPE = "*/*";

export const takesAnyBody = ({ rawBody }: Route): boolean =>
  rawBody?.mediaType === ANY_MEDIA_TYPE && rawBody.isStream !== true;

export const takesAnyStream = ({ rawBody }: Route): boolean =>
  rawBody?.mediaType === ANY_MEDIA_TYPE && rawBody.isStream === true;

/** Gives its routes a body of any type as it comes. Their handlers hold its limit. */
export function streamAnyBody(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
}

/** Has its routes read a body of any type whole, as bytes. The routes' own limits hold. */
export function readAnyBody(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));
}
