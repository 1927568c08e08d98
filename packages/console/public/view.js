/** Puts data on the page. All text comes in through `textContent`: nothing a task wrote is ever parsed as HTML. */

const GOOD = new Set(["succeeded"]);
const BAD = new Set(["failed", "system_failed", "expired"]);
const WARN = new Set(["retry_delayed", "cancel_requested", "cancelled"]);

export const byId = (id) => document.getElementById(id);

function create(tag, text, className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className !== "") element.className = className;
  return element;
}

function toneOf(status) {
  if (GOOD.has(status)) return "good";
  if (BAD.has(status)) return "bad";
  return WARN.has(status) ? "warn" : "";
}

/** `tone` is "good", "bad" or "warn". Written only when it changes, so that it is read out only then. */
export function showServerState(text, tone) {
  const badge = byId("server-state");
  if (badge.textContent !== text) badge.textContent = text;
  badge.className = `badge ${tone}`;
}

export function showProblem(message) {
  const problem = byId("problem");
  if (problem.textContent !== message) problem.textContent = message;
  problem.hidden = message === "";
}

export function showSignedIn(isSignedIn) {
  for (const id of ["who", "sign-out", "runs"]) byId(id).hidden = !isSignedIn;
  byId("sign-in").hidden = isSignedIn;
  if (!isSignedIn) byId("detail").hidden = true;
}

export function showCounts(counts) {
  const items = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => create("li", `${status.replaceAll("_", " ")} ${count}`, toneOf(status)));
  byId("counts").replaceChildren(...items);
}

/** Rows are kept by run id, so that a refresh does not take the focus away. */
export function showRuns(runs, selectedId, onOpen) {
  byId("empty").hidden = runs.length > 0;
  byId("table").hidden = runs.length === 0;
  const body = byId("rows");
  const known = new Map([...body.rows].map((row) => [row.dataset.run, row]));
  const rows = runs.map((run) => {
    const row = known.get(run.id) ?? createRow(run.id, onOpen);
    fillRow(row, run, run.id === selectedId);
    return row;
  });
  const isSame = rows.length === body.rows.length && rows.every((row, index) => row === body.rows[index]);
  if (isSame) return;
  const focused = document.activeElement;
  body.replaceChildren(...rows);
  if (body.contains(focused)) focused.focus();
}

function createRow(id, onOpen) {
  const row = document.createElement("tr");
  row.dataset.run = id;
  const button = create("button", id);
  button.type = "button";
  button.addEventListener("click", () => onOpen(id));
  row.insertCell().append(button);
  for (let cell = 0; cell < 5; cell += 1) row.insertCell();
  return row;
}

function fillRow(row, run, isSelected) {
  const attempt = run.attempt_number === null ? "–" : `${run.attempt_number} of ${run.max_attempts}`;
  const texts = [run.task ?? run.actor, run.status.replaceAll("_", " "), attempt];
  texts.push(new Date(run.created_at).toLocaleString(), tookText(run));
  for (const [index, text] of texts.entries()) {
    const cell = row.cells[index + 1];
    if (cell.textContent !== text) cell.textContent = text;
  }
  row.cells[2].className = toneOf(run.status);
  row.setAttribute("aria-current", String(isSelected));
}

function tookText({ started_at: started, finished_at: finished }) {
  if (started === null || finished === null) return "–";
  const tookMs = Date.parse(finished) - Date.parse(started);
  return tookMs < 1000 ? `${tookMs} ms` : `${(tookMs / 1000).toFixed(1)} s`;
}

/** Empties the detail section and gives it the focus. */
export function openDetail(runId) {
  byId("detail-title").textContent = runId;
  byId("events").replaceChildren();
  for (const id of ["stdout", "stderr"]) byId(id).textContent = "";
  byId("failure").hidden = true;
  byId("detail").hidden = false;
  byId("detail-title").focus();
}

export function closeDetail() {
  byId("detail").hidden = true;
}

export function showRun({ id, task, actor, status, status_reason: reason, failure }) {
  byId("detail-title").textContent = `${task ?? actor} ${status.replaceAll("_", " ")} – ${id}`;
  const text = failure === null ? (reason?.message ?? "") : `${failure.kind}: ${failure.message}`;
  byId("failure").textContent = text;
  byId("failure").hidden = text === "";
}

export function appendEvents(events) {
  const items = events.map((event) => {
    const time = new Date(event.at).toLocaleTimeString();
    const tone = { error: "bad", warn: "warn" }[event.severity] ?? "";
    return create("li", `${time}  ${event.kind}  ${event.message}`, tone);
  });
  byId("events").append(...items);
}

export function showLogs(snapshot) {
  for (const stream of ["stdout", "stderr"]) {
    const text = decodeBase64(snapshot[stream]);
    const kept = snapshot[stream].length > 0 ? text : "nothing written";
    const element = byId(stream);
    if (element.textContent === kept) continue;
    const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 4;
    element.textContent = kept;
    if (isAtEnd) element.scrollTop = element.scrollHeight;
  }
}

function decodeBase64(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.codePointAt(0));
  return new TextDecoder().decode(bytes);
}

export function showCurl(taskId) {
  byId("curl").textContent = [
    `curl -X POST ${location.origin}/v1/tasks/${taskId}/start \\`,
    `  -H "Authorization: Bearer $KEELSON_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"payload": {}}'`,
  ].join("\n");
}

/** Without clipboard access (plain http on another host) the text is selected instead. */
export async function copyCurl() {
  const source = byId("curl");
  try {
    await navigator.clipboard.writeText(source.textContent);
    byId("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(source);
    byId("copied").textContent = "Selected: copy it with your keyboard.";
  }
}
