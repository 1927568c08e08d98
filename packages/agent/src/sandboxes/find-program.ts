import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { isAbsolute, join } from "node:path";
import type { ProcessSpec } from "../supervisor/calls.ts";
import { enterFolder } from "@keelson/workspace-tree/enter-folder";
import { INSIDE_ROOT } from "./bubblewrap-arguments.ts";
import type { WorkingFolder } from "./resolve-folder.ts";
import { SYSTEM_PATH, type Sandbox } from "./sandbox.ts";

/** What is known of a path before anything runs. `unknown`: only a start can tell. */
type Finding = "program" | "missing" | "no_program" | "unknown";

const SHOWN = /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32)\//;
/** As many links as Linux follows. */
const MAX_LINKS = 40;
const REASONS = { missing: "no such program", no_program: "permission denied" } as const;

/**
 * Why a process cannot be started, found out before anything of it runs: what a program prints, or how it ends, never says
 * that it was not started. When in doubt it is started, and a wrapper that cannot execute it says so and exits with 126 or
 * 127, as a shell does.
 */
export function findStartProblem(sandbox: Sandbox, spec: ProcessSpec, folder: WorkingFolder): string | null {
  const program = spec.command?.[0];
  if (program === undefined) return null;
  const finding = program.includes("/")
    ? lookAt(sandbox, folder, program)
    : search(sandbox, folder, program, spec.env.PATH ?? sandbox.surroundings.env.PATH ?? SYSTEM_PATH);
  return finding === "missing" || finding === "no_program"
    ? `"${program}" could not be started: ${REASONS[finding]}`
    : null;
}

function search(sandbox: Sandbox, folder: WorkingFolder, program: string, path: string): Finding {
  if (program === "") return "missing";
  const findings = path.split(":").map((entry) => lookAt(sandbox, folder, join(entry || ".", program)));
  for (const finding of ["program", "unknown", "no_program"] as const)
    if (findings.includes(finding)) return finding;
  return "missing";
}

function lookAt(
  { surroundings: { root, isolation } }: Sandbox,
  { inside }: WorkingFolder,
  path: string,
): Finding {
  const own = isolation === "namespace" ? INSIDE_ROOT : root;
  const whole = isAbsolute(path) ? join(path) : join(own, inside, path);
  if (whole === own) return "no_program";
  if (whole.startsWith(`${own}/`)) return lookInside(root, own, whole.slice(own.length + 1));
  // Of the machine, the namespace tier shows these alone.
  return isolation === "namespace" && !SHOWN.test(whole) ? "unknown" : lookOutside(whole);
}

/** Through folders that are held, as all of the workspace. */
function lookInside(root: string, own: string, path: string): Finding {
  const names = path.split("/");
  for (let depth = names.length - 1; depth >= 0; depth -= 1) {
    const place = enterFolder(root, names.slice(0, depth).join("/"), [own]);
    if (place === null) continue;
    try {
      const stat = lstatSync(`${place.folder.place}/${names[depth]}`, { throwIfNoEntry: false });
      if (stat === undefined) return "missing";
      // A link may lead out, to where the program is.
      return depth < names.length - 1 || stat.isSymbolicLink() ? "unknown" : judge(stat);
    } catch {
      return "unknown";
    } finally {
      place.close();
    }
  }
  return "unknown";
}

/** Says something only of folders that everybody may look into: the supervisor may be root, and its caller is not. */
function lookOutside(path: string): Finding {
  const rest = namesOf(path);
  let at = "/";
  try {
    for (let links = 0, name = rest.shift(); name !== undefined; name = rest.shift()) {
      const next = join(at, name);
      const stat = lstatSync(next, { throwIfNoEntry: false });
      if (stat === undefined) return "missing";
      if (stat.isSymbolicLink()) {
        if ((links += 1) > MAX_LINKS) return "unknown";
        const target = readlinkSync(next);
        if (target.startsWith("/")) at = "/";
        rest.unshift(...namesOf(target));
        continue;
      }
      if (rest.length === 0) return judge(stat);
      if (!stat.isDirectory()) return "missing";
      if ((stat.mode & 0o001) === 0) return "unknown";
      at = next;
    }
    return "no_program";
  } catch {
    return "unknown";
  }
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "");

const judge = (stat: Stats): Finding =>
  stat.isFile() && (stat.mode & 0o111) !== 0 ? "program" : "no_program";
