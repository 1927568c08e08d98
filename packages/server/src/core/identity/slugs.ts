import { DomainError, invalidRequest } from "../../domain-error.ts";
import { slugOf } from "./identity.ts";

/** The slug that was given, else one made from the name. */
export function chooseSlug(name: string, slug: string | undefined): string {
  const chosen = slug ?? slugOf(name);
  if (chosen === null)
    throw invalidRequest([{ path: "slug", message: "is required: none can be made from this name" }]);
  return chosen;
}

const ONE = { project: "A project", environment: "An environment" };

export const slugTaken = (what: keyof typeof ONE, slug: string): DomainError =>
  new DomainError("already_exists", `${ONE[what]} with the slug ${slug} exists. Choose another slug.`, {
    slug,
  });
