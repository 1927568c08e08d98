import { ROLES, type Role } from "@keelson/contract/plain";
import { InvalidArgumentError } from "commander";

export function parseRole(text: string): Role {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) throw new InvalidArgumentError(`It must be one of ${ROLES.join(", ")}.`);
  return role;
}
