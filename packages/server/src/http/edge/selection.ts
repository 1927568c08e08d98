import { Type, type TSchema } from "typebox";
import type { Route } from "./route.ts";

/** Where a user says to act: ids as they were sent, null where none was. */
export type Selection = {
  organizationId: string | null;
  projectId: string | null;
  environmentId: string | null;
};

type Fields = Readonly<Record<string, TSchema>>;

const id = (description: string): TSchema => Type.Optional(Type.String({ maxLength: 64, description }));

const ENVIRONMENT: Fields = {
  project_id: id("The environment in which a user acts. Required with a user's token."),
  environment_id: id("The environment in which a user acts. Required with a user's token."),
};
const ORGANIZATION: Fields = {
  organization_id: id("The organization in which the user acts. Required for a member of several."),
};
const NONE: Fields = {};

/** The fields beside a route's own by which users say where to act; empty where its path says it, or nothing does. */
export function selectionFields({ family, access }: Route): Fields {
  if (access.kind === "organization") return ORGANIZATION;
  return family === "api" && access.kind === "environment" ? ENVIRONMENT : NONE;
}

export const isSelecting = (route: Route): boolean => selectionFields(route) !== NONE;

/** Whether the selection stands in the query: on GET, DELETE and raw bodies. Elsewhere it is in the body. */
export const selectsInQuery = (route: Route): boolean =>
  route.method === "GET" || route.method === "DELETE" || route.rawBody !== undefined;

/** The schema with the selection allowed beside its own fields. */
export function withSelection(schema: TSchema, fields: Fields): TSchema {
  const object = schema as TSchema & { properties?: Record<string, TSchema> };
  if (fields === NONE || object.properties === undefined) return schema;
  const { $id: _, ...rest } = object as typeof object & { $id?: string };
  return { ...rest, properties: { ...object.properties, ...fields } };
}

/** Takes the selection out of a query or body. */
export function takeSelection(source: Record<string, unknown>, fields: Fields): Selection {
  const take = (name: string): string | null => {
    if (!(name in fields)) return null;
    const value = source[name];
    delete source[name];
    return typeof value === "string" ? value : null;
  };
  return {
    organizationId: take("organization_id"),
    projectId: take("project_id"),
    environmentId: take("environment_id"),
  };
}
