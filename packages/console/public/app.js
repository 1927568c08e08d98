/** The console: a page that asks every two seconds and says so when it gets no answer. */
import {
  RequestError,
  acceptLoginLink,
  forgetCredential,
  get,
  isApiKey,
  readCredential,
  readReadiness,
  readServerVersion,
  saveCredential,
} from "./api.js";
import {
  appendEvents,
  byId,
  closeDetail,
  copyCurl,
  openDetail,
  showCounts,
  showCurl,
  showLogs,
  showProblem,
  showRun,
  showRuns,
  showServerState,
  showSignedIn,
} from "./view.js";

const REFRESH_MS = 2000;
const EVENT_PAGE = 200;

const state = {
  version: null,
  selected: null,
  timer: null,
  isRefreshing: false,
  isStale: false,
};

/** One look at everything on the page. Whatever changed the page meanwhile (`isStale`) asks for another look. */
async function refresh() {
  clearTimeout(state.timer);
  if (state.isRefreshing) {
    state.isStale = true;
    return;
  }
  state.isRefreshing = true;
  state.isStale = false;
  try {
    await refreshServer();
    if (readCredential() !== null) {
      await refreshRuns();
      if (state.selected !== null) await refreshDetail(state.selected);
    }
  } catch (error) {
    showFailure(error);
  } finally {
    state.isRefreshing = false;
    if (state.isStale) void refresh();
    else if (!document.hidden) state.timer = setTimeout(refresh, REFRESH_MS);
  }
}

async function refreshServer() {
  const isReady = await readReadiness();
  showServerState(
    isReady ? "Ready" : "Not ready: starting, stopping or without its database",
    isReady ? "good" : "warn",
  );
  if (state.version === null && isReady) {
    state.version = await readServerVersion();
    byId("version").textContent = state.version;
  }
}

async function refreshRuns() {
  const [{ counts }, { runs }] = await Promise.all([
    get("/api/runs/counts"),
    get("/api/runs", { limit: 20 }),
  ]);
  showProblem("");
  showCounts(counts);
  showRuns(runs, state.selected?.id, openRun);
}

/** `selected` is a new object at every opening: an answer that comes after another one was opened is dropped. */
async function refreshDetail(selected) {
  const path = `/api/runs/${selected.id}`;
  const [run, logs] = await Promise.all([get(path), get(`${path}/logs`)]);
  if (state.selected !== selected) return;
  showRun(run);
  showLogs(logs);
  for (let isMore = true; isMore;) {
    const { events } = await get(`${path}/events`, { cursor: selected.eventCursor, limit: EVENT_PAGE });
    if (state.selected !== selected) return;
    appendEvents(events);
    selected.eventCursor = events.at(-1)?.id ?? selected.eventCursor;
    isMore = events.length === EVENT_PAGE;
  }
}

function showFailure(error) {
  if (error instanceof RequestError && error.status === 401) {
    if (readCredential() !== null) signOut("The credential is unknown, expired or revoked. Sign in again.");
  } else if (error instanceof RequestError && error.status < 500) {
    showProblem(error.message);
  } else {
    showServerState("Reconnecting… what you see may be old", "bad");
  }
}

function openRun(id) {
  state.selected = { id, eventCursor: "0" };
  openDetail(id);
  void refresh();
}

function closeRun() {
  const row = document.querySelector(`tr[data-run="${CSS.escape(state.selected?.id ?? "")}"] button`);
  state.selected = null;
  closeDetail();
  row?.focus();
  void refresh();
}

function signOut(message) {
  forgetCredential();
  state.selected = null;
  showSignedIn(false);
  showProblem(message);
}

function signIn(event) {
  event.preventDefault();
  const fields = event.target.elements;
  const credential = {};
  for (const name of ["token", "project_id", "environment_id"]) credential[name] = fields[name].value.trim();
  if (!isApiKey(credential) && (credential.project_id === "" || credential.environment_id === "")) {
    showProblem("A user token needs a project id and an environment id; an API key (kl_key_…) does not.");
    return;
  }
  saveCredential(credential);
  event.target.reset();
  showProblem("");
  showSignedIn(true);
  void refresh();
}

acceptLoginLink();
showSignedIn(readCredential() !== null);
showCurl("TASK_ID");
byId("sign-in-form").addEventListener("submit", signIn);
byId("sign-out").addEventListener("click", () => signOut(""));
byId("close-detail").addEventListener("click", closeRun);
byId("copy").addEventListener("click", () => void copyCurl());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.selected !== null) closeRun();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void refresh();
});
addEventListener("hashchange", () => {
  acceptLoginLink();
  showSignedIn(readCredential() !== null);
  void refresh();
});
void refresh();
