import { parseRunSearch } from "@keelson/contract/plain";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get, getAll } from "../api/client.ts";
import type { Place } from "../api/place.ts";
import { listActors } from "../api/routes/actors.ts";
import { listRuns } from "../api/routes/runs.ts";
import { listSessions } from "../api/routes/sessions.ts";
import { listTasks } from "../api/routes/tasks.ts";
import { listWorkspaces } from "../api/routes/workspaces.ts";
import type { Command } from "./commands.ts";

/** Sessions and workspaces that a text is looked for in: the newest. */
const NEWEST = 100;
const RUNS = 5;
/** Nobody stops typing for as long. */
const TYPED_MS = 200;
const STALE_MS = 30_000;

const has = (wanted: string, ...texts: (string | null)[]): boolean =>
  texts.some((text) => text?.toLowerCase().includes(wanted) === true);

/** What of the environment has the text in its name: tasks, actors, sessions, workspaces; and runs that have it anywhere. */
export function useFoundCommands(place: Place | null, text: string): Command[] {
  const wanted = text.trim().toLowerCase();
  const named = useNamed(place);
  const runs = useRuns(place, useSettled(text.trim()));
  if (place === null || wanted === "") return [];
  return [
    ...named.filter(({ label, detail, names }) => has(wanted, label, detail, ...names)),
    ...runs.map(({ id, task, actor, status }) => ({
      label: task ?? actor ?? id,
      detail: `Run …${id.slice(-12)}, ${status}`,
      to: `/e/${place.environment_id}/runs/${id}`,
    })),
  ];
}

type Named = Command & { names: (string | null)[] };

function useNamed(place: Place | null): Named[] {
  const { data = [] } = useQuery({
    queryKey: ["e", place?.environment_id, "names"],
    enabled: place !== null,
    staleTime: STALE_MS,
    queryFn: () => (place === null ? [] : readNamed(place)),
  });
  return data;
}

async function readNamed(place: Place): Promise<Named[]> {
  const base = `/e/${place.environment_id}`;
  const newest = { ...place, limit: NEWEST };
  const [tasks, actors, { sessions }, { workspaces }] = await Promise.all([
    getAll(listTasks, place),
    getAll(listActors, place),
    get(listSessions, newest),
    get(listWorkspaces, newest),
  ]);
  const entrypoints = (noun: "Task" | "Actor", names: readonly string[]): Named[] =>
    names.flatMap((name) => {
      const to = `${base}/${noun.toLowerCase()}s/${encodeURIComponent(name)}`;
      return [
        { label: name, detail: noun, names: [], to },
        { label: `Start ${name}`, detail: "Action", names: [], to: `${to}/start` },
      ];
    });
  return [
    ...entrypoints(
      "Task",
      tasks.map(({ declared_id }) => declared_id),
    ),
    ...entrypoints(
      "Actor",
      actors.map(({ declared_id }) => declared_id),
    ),
    ...sessions.map(({ id, external_id, tags }) => ({
      ...{ label: external_id ?? id, detail: "Session", names: [id, ...tags] },
      to: `${base}/sessions/${id}`,
    })),
    ...workspaces.map(({ id, external_id, tags }) => ({
      ...{ label: external_id ?? id, detail: "Workspace", names: [id, ...tags] },
      to: `${base}/workspaces/${id}`,
    })),
  ];
}

type FoundRun = { id: string; task: string | null; actor: string | null; status: string };

function useRuns(place: Place | null, search: string): FoundRun[] {
  const isReadable = search.length > 2 && "search" in parseRunSearch(search);
  const { data } = useQuery({
    queryKey: ["e", place?.environment_id, "found runs", search],
    enabled: place !== null && isReadable,
    staleTime: STALE_MS,
    retry: false,
    queryFn: async ({ signal }) =>
      place === null ? [] : (await get(listRuns, { ...place, search, limit: RUNS }, signal)).runs,
  });
  return data ?? [];
}

/** The text once it has stayed the same for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
