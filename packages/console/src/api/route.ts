import type { Place } from "./place.ts";

/** What every request to a route of an environment carries. */
export type InEnvironment = Place;
/** What a request to a route of an organization carries; a member of one alone may leave it out. */
export type InOrganization = { organization_id?: string };

type RouteTypes = {
  /** The names of what stands in its path, to be filled in by `at`. */
  params: string;
  query: object;
  body: unknown;
  answer: unknown;
};

/**
 * A route of the server. `routes/` has all of them, generated from the server's own, so that a path, a parameter or a field
 * that is not there does not compile.
 */
export type Route<Types extends RouteTypes = RouteTypes> = {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Of a list: the field of its answer that has the rows. */
  readonly items?: string;
  /** Never there: it carries the types. */
  readonly types?: Types;
};

/** A route whose path is complete. */
export type Address<Types extends Omit<RouteTypes, "params"> = Omit<RouteTypes, "params">> = Route<
  Types & { params: never }
>;

type TypesOf<R> = R extends Route<infer Types> ? Types : never;
export type ParamsOf<R> = Readonly<Record<TypesOf<R>["params"], string>>;
/** What `at` makes of the route. */
export type Filled<R> = Address<Omit<TypesOf<R>, "params">>;
export type AnswerOf<R> = TypesOf<R>["answer"];
export type BodyOf<R> = TypesOf<R>["body"];
/** What is undefined is not sent. */
export type QueryOf<R> = Loose<TypesOf<R>["query"]>;
type Loose<Query> = { [Name in keyof Query]: Given<Query, Name> };
type Given<Query, Name extends keyof Query> =
  object extends Pick<Query, Name> ? OneOrMore<Query[Name]> | undefined : OneOrMore<Query[Name]>;
/** A parameter that may be repeated may be given once. */
type OneOrMore<Value> = Value extends readonly (infer Item)[] ? Item | readonly Item[] : Value;

/** The rows of a list's answer. */
export type RowOf<R> = {
  [Name in keyof AnswerOf<R>]-?: AnswerOf<R>[Name] extends readonly (infer Row)[] ? Row : never;
}[keyof AnswerOf<R>];

/** The route with its path filled in: `at(getRun, { id })`. */
export function at<Types extends RouteTypes>(
  { method, path, items }: Route<Types>,
  params: ParamsOf<Route<Types>>,
): Filled<Route<Types>> {
  const values: Readonly<Record<string, string>> = params;
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  return { method, path: filled, ...(items !== undefined && { items }) };
}
