import { createBackfills } from './backfills.js';
import { byId, show, showTable } from './dom.js';
import { mergeRun } from './merge-run.js';
import { createRunCard } from './run-card.js';
import { schedulesTable, workersTable } from './tables.js';

/** @import { Board, RunState } from '../board.ts' */
/** @import { BoardChange } from '../board.ts' */
/** @import { RunCard } from './run-card.js' */

/** @type {Map<string, { card: RunCard, run: RunState }>} */
const runs = new Map();

const backfills = createBackfills((action) => void post(['backfills', action]));
byId('backfills').append(backfills.element);

/** @param {Board} board */
function showBoard(board) {
  for (const id of runs.keys()) if (!board.runs.some((run) => run.id === id)) removeRun(id);
  for (const run of board.runs) showRun(run);
  showRest({ ...board, trouble: board.trouble ?? null });
}

/** @param {BoardChange} change */
function showChange(change) {
  for (const id of change.gone ?? []) removeRun(id);
  for (const run of change.runs ?? []) showRun(mergeRun(runs.get(run.id)?.run, run));
  showRest(change);
}

/** @param {RunState} run */
function showRun(run) {
  const known = runs.get(run.id);
  const card = known?.card ?? addCard(run);
  card.show(run, known?.run);
  runs.set(run.id, { card, run });
}

/** @param {RunState} run */
function addCard(run) {
  const card = createRunCard(run.id, (action) => void post(['runs', run.id, action]));
  const later = [...runs.values()]
    .filter((other) => other.run.startedAtMs < run.startedAtMs)
    .sort((a, b) => b.run.startedAtMs - a.run.startedAtMs)[0];
  byId('runs').insertBefore(card.element, later?.card.element ?? null);
  return card;
}

/** @param {string} id */
function removeRun(id) {
  runs.get(id)?.card.element.remove();
  runs.delete(id);
}

/** @param {Pick<BoardChange, 'workers' | 'schedules' | 'backlog' | 'trouble'>} change */
function showRest({ workers, schedules, backlog, trouble }) {
  byId('no-runs').hidden = runs.size > 0;
  if (workers) {
    showTable(byId('workers'), workersTable(workers));
    byId('workers-section').hidden = workers.length === 0;
  }
  if (schedules) {
    showTable(
      byId('schedules'),
      schedulesTable(schedules, (group, job) => void post(['schedules', group, job, 'run'])),
    );
    byId('schedules-section').hidden = schedules.length === 0;
  }
  if (backlog) {
    backfills.show(backlog);
    byId('backfills-section').hidden = false;
  }
  if (trouble !== undefined) {
    show(byId('trouble'), trouble ?? '');
    byId('trouble').hidden = trouble === null;
  }
}

/** How long the reason for a refused action is shown. */
const REFUSAL_MS = 15_000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let hiding;

/**
 * Asks for an action. Its effect shows in the events of the server.
 *
 * @param {readonly string[]} path
 */
async function post(path) {
  const url = path.map(encodeURIComponent).join('/');
  const message = byId('message');
  message.hidden = true;
  try {
    const answer = await fetch(url, { method: 'POST' });
    if (answer.ok) return;
    tell(answer.status === 401 ? 'Sign in again: load this page anew.' : await answer.text());
  } catch {
    tell('That could not be asked: the connection is lost.');
  }

  /** @param {string} text */
  function tell(text) {
    message.hidden = false;
    show(message, text.trim());
    clearTimeout(hiding);
    hiding = setTimeout(() => {
      message.hidden = true;
    }, REFUSAL_MS);
  }
}

function connect() {
  const events = new EventSource('events');
  const connection = byId('connection');
  events.addEventListener('open', () => {
    show(connection, 'Live');
    connection.dataset['state'] = 'live';
  });
  events.addEventListener('error', () => {
    const hasEnded = runs.size > 0 && [...runs.values()].every(({ run }) => run.phase === 'ended');
    show(connection, hasEnded ? 'Not connected: the run is over' : 'Not connected; trying again');
    connection.dataset['state'] = 'lost';
    if (events.readyState === EventSource.CLOSED) void connectAgain();
  });
  events.addEventListener('board', ({ data }) => showBoard(JSON.parse(data)));
  events.addEventListener('change', ({ data }) => showChange(JSON.parse(data)));
}

/** Wait before the next attempt where the browser does not reconnect by itself. */
const AGAIN_MS = 3_000;

/**
 * Connects again. A browser gives up when it gets another kind of answer, as from a proxy while the
 * dashboard is away.
 */
async function connectAgain() {
  await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  const status = await fetch('./', { method: 'HEAD' }).then(
    (answer) => answer.status,
    () => 0,
  );
  if (status === 401) show(byId('connection'), 'Signed out: load this page anew');
  else connect();
}

connect();
