/** The console: a page that asks every two seconds and says so when it gets no answer. */
import { connect, findUser, offerSignIn, on, signInBy } from "./account.js";
import { get, readReadiness, readServerVersion, RequestError } from "./api.js";
import { loadPlaces, preferPlace, selectedPlace, takeSelected } from "./places.js";
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
  isSignedIn: false,
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
    if (selectedPlace() !== null && state.isSignedIn) {
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
  const place = selectedPlace();
  const [{ counts }, { runs }] = await Promise.all([
    get("/api/runs/counts", place),
    get("/api/runs", { ...place, limit: 20 }),
  ]);
  // Another environment was selected, or the user signed out, meanwhile.
  if (selectedPlace() !== place || !state.isSignedIn) return;
  showProblem("");
  showCounts(counts);
  showRuns(runs, state.selected?.id, openRun);
}

/** `selected` is a new object at every opening: an answer that comes after another one was opened is dropped. */
async function refreshDetail(selected) {
  const path = `/api/runs/${selected.id}`;
  const place = selectedPlace();
  const [run, logs] = await Promise.all([get(path, place), get(`${path}/logs`, place)]);
  if (state.selected !== selected) return;
  showRun(run);
  showLogs(logs);
  for (let isMore = true; isMore;) {
    const { events } = await get(`${path}/events`, {
      ...place,
      cursor: selected.eventCursor,
      limit: EVENT_PAGE,
    });
    if (state.selected !== selected) return;
    appendEvents(events);
    selected.eventCursor = events.at(-1)?.id ?? selected.eventCursor;
    isMore = events.length === EVENT_PAGE;
  }
}

function showFailure(error) {
  if (error instanceof RequestError && error.status === 401) {
    void showSignIn("Your session has ended. Sign in again.");
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

async function showSignIn(message) {
  state.isSignedIn = false;
  state.selected = null;
  showSignedIn(false);
  showProblem(message);
  await offerSignIn("/");
}

/** Takes a session out of the login link's fragment, and the fragment out of the address and its history. */
function takeLoginLink() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("token");
  if (token === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  const environmentId = fragment.get("environment_id");
  if (environmentId !== null) preferPlace(environmentId);
  return token;
}

/** Finds out who is signed in and what they may see; asks to sign in when nobody is. */
async function begin() {
  const me = await findUser();
  if (me === null) return showSignIn("");
  await loadPlaces(me.organizations);
  state.isSignedIn = true;
  showSignedIn(true);
  showProblem(
    selectedPlace() === null
      ? "You are no member of an organization with an environment. Ask to be invited."
      : "",
  );
  await refresh();
}

/** With the login link's session if there is one. A server that cannot be reached is asked again. */
async function signInAndBegin(token) {
  try {
    if (token !== null) await signInBy(token);
    await begin();
  } catch (error) {
    if (error instanceof RequestError && error.status === 401)
      return showSignIn("The login link's session is unknown, expired or revoked. Sign in another way.");
    showFailure(error);
    const isLasting = error instanceof RequestError && error.status < 500;
    if (!isLasting) setTimeout(signInAndBegin, REFRESH_MS, token);
  }
}

showCurl("TASK_ID");
connect(() => "/");
on("token-form", "submit", async ({ target }) => {
  const token = String(target.elements.token.value).trim();
  target.reset();
  await signInBy(token);
  await begin();
});
byId("environment").addEventListener("change", () => {
  takeSelected();
  if (state.selected !== null) closeRun();
  else void refresh();
});
byId("close-detail").addEventListener("click", closeRun);
byId("copy").addEventListener("click", () => void copyCurl());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.selected !== null) closeRun();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void refresh();
});
addEventListener("hashchange", () => void signInAndBegin(takeLoginLink()));
void refresh();
void signInAndBegin(takeLoginLink());
