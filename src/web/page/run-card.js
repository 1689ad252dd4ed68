import { createRateChart } from './chart.js';
import { make, show, showTable, table } from './dom.js';
import { amount, count, counted, duration, percent, rate, time } from './format.js';

/** @import { RunAction, RunState } from '../board.ts' */

/**
 * One run on the page. Its elements stay and only their text changes, so that focus and selection stay
 * too.
 *
 * @typedef {object} RunCard
 * @property {HTMLElement} element
 * @property {(run: RunState, before: RunState | undefined) => void} show
 */

/** @type {readonly [RunAction, string][]} */
const BUTTONS = [
  ['pause', 'Pause'],
  ['resume', 'Resume'],
  ['stop', 'Stop'],
  ['retry', 'Retry failures'],
];

/** @type {Readonly<Record<RunState['phase'], string>>} */
const PHASES = {
  reading: 'Reading the list',
  looking_up: 'Looking up',
  saving_logos: 'Saving logos',
  stopping: 'Stopping',
  writing: 'Writing the files',
  ended: 'Ended',
  lost: 'Lost: its process is gone',
};

/** @type {Readonly<Record<NonNullable<RunState['ending']>, string>>} */
const ENDINGS = {
  done: 'Ended: done',
  some_failed: 'Ended: some rows failed',
  nothing_found: 'Ended: nothing was found',
  stopped: 'Ended: stopped early',
  error: 'Ended with an error',
};

/**
 * @param {string} id
 * @param {(action: RunAction) => void} ask
 * @returns {RunCard}
 */
export function createRunCard(id, ask) {
  const title = make('h3', { id: `run-${id}` });
  const phase = make('p', { class: 'phase', role: 'status' });
  const bar = make('progress', { max: '1', value: '0', 'aria-labelledby': `run-${id}` });
  const where = make('p', { class: 'numbers' });
  const about = make('p', { class: 'about' });
  const waits = make('p', { class: 'trouble' });
  const next = make('p', { class: 'next' });
  const numbers = make('dl');
  const chart = createRateChart();
  const buttons = new Map(
    BUTTONS.map(([action, name]) => {
      const button = make('button', { type: 'button', 'aria-describedby': `run-${id}` }, name);
      button.addEventListener('click', () => ask(action));
      return /** @type {const} */ ([action, button]);
    }),
  );
  const failures = make('div');
  const answers = make('div');
  const notices = make('ul', { class: 'notices', 'aria-label': 'Notices' });
  const end = make('ul', { class: 'end', 'aria-label': 'How it ended' });
  const bottom = make('div', { class: 'buttons' }, ...buttons.values());
  const details = make(
    'details',
    {},
    make('summary', {}, 'Figures, speed, failures'),
    numbers,
    chart.element,
    failures,
    answers,
    notices,
  );
  const element = make(
    'article',
    { class: 'run-card', 'aria-labelledby': `run-${id}` },
    make('div', { class: 'head' }, title, phase),
    about,
    bar,
    where,
    waits,
    end,
    next,
    bottom,
    details,
  );

  return {
    element,
    show: (run, before) => {
      // A run that is over is folded, but one that somebody looks at stays open when it ends.
      if (!before) details.open = run.phase !== 'ended' && run.phase !== 'lost';
      show(title, run.list);
      show(about, aboutOf(run));
      show(phase, phaseOf(run));
      element.dataset['phase'] = run.isPaused ? 'paused' : (run.ending ?? run.phase);
      showProgress(run, { bar, where });
      const waitsFor = waitsForOf(run);
      show(waits, waitsFor);
      waits.hidden = waitsFor === '';
      show(next, run.next ?? '');
      next.hidden = run.next === undefined;
      showNumbers(run, numbers);
      showButtons(run, buttons);
      bottom.hidden = run.actions.length === 0;
      if (run.history !== before?.history) chart.show(run.history);
      if (run.failures !== before?.failures) showFailures(run, failures);
      if (run.answers !== before?.answers) showAnswers(run, answers);
      if (run.notices !== before?.notices) showLines(notices, run.notices);
      if (run.end !== before?.end || !before) showLines(end, run.end ?? []);
    },
  };
}

/**
 * Why calls wait. What a run told last is no longer so when it makes no more of them, or is gone.
 *
 * @param {RunState} run
 */
function waitsForOf({ phase, progress }) {
  return phase === 'looking_up' ? (progress?.waits ?? '') : '';
}

/** @param {RunState} run */
function phaseOf(run) {
  if (run.isPaused) return 'Paused: no new call starts';
  if (run.phase === 'looking_up' && run.isRetryWanted) {
    return `${PHASES.looking_up}; what failed is asked once more at the end`;
  }
  return run.ending ? ENDINGS[run.ending] : PHASES[run.phase];
}

/** @param {RunState} run */
function aboutOf({ host, pid, schedule, startedAtMs, endedAtMs }) {
  const by = schedule ? `schedule ${schedule.job}, ` : '';
  const until = endedAtMs === undefined ? '' : `, ended ${time(endedAtMs)}`;
  return `${by}started ${time(startedAtMs)}${until}, on ${host}, process ${pid}`;
}

/**
 * @param {RunState} run
 * @param {{ bar: HTMLProgressElement, where: HTMLElement }} elements
 */
function showProgress({ progress, plan, phase, logos }, { bar, where }) {
  const all = progress?.lookups ?? 0;
  const done = progress?.done ?? 0;
  const logosDone = logos ? logos.saved + logos.kept + logos.missing : 0;
  const [part, whole] = phase === 'saving_logos' && logos ? [logosDone, logos.total] : [done, all];
  if (phase === 'reading') bar.removeAttribute('value');
  else bar.value = whole === 0 ? 1 : part / whole;
  const rows = plan ? `${counted(plan.rows, 'row')}, ${count(plan.freshDomains)} fresh. ` : '';
  const left = progress?.leftMs !== undefined && done < all && phase === 'looking_up';
  const parts = progress
    ? [`${percent(done, all)}: ${count(done)} of ${counted(all, 'lookup')}`]
    : [];
  if (left) parts.push(`about ${duration(progress.leftMs ?? 0)} left`);
  if (logos) parts.push(`${count(logosDone)} of ${counted(logos.total, 'logo')}`);
  show(where, rows + parts.join(', '));
}

/** @param {RunState} run */
function makesCalls({ phase }) {
  return phase === 'looking_up' || phase === 'stopping';
}

/**
 * @param {RunState} run
 * @param {HTMLDListElement} list
 */
function showNumbers(run, list) {
  const { progress, logos } = run;
  if (!progress) return;
  const { limitPerSecond } = progress;
  const limit = limitPerSecond === undefined ? 'not known' : rate(limitPerSecond);
  /** @type {readonly (readonly [string, string])[]} */
  const pairs = [
    ['Calls per second', makesCalls(run) ? rate(progress.ratePerSecond) : '–'],
    ['Limit', limit],
    ['Found', count(progress.found)],
    ['Not found', count(progress.notFound)],
    ['Rejected', count(progress.rejected)],
    ['Failed', count(progress.failed)],
    ['Pending', count(progress.pending ?? 0)],
    ['Calls', count(progress.calls)],
    ['Retries', count(progress.retries)],
    ['Answered 429', count(progress.throttled)],
    ...(progress.billed ? [billedNumber('Billed', progress.billed)] : []),
    ...(progress.billedBy ?? []).map((billed) => billedNumber(`Billed by ${billed.name}`, billed)),
    ['Under way', count(progress.underWay)],
    ['Time', duration(progress.elapsedMs)],
    ...(logos ? logoNumbers(logos) : []),
  ];
  if (list.childElementCount !== pairs.length) {
    list.replaceChildren();
    for (const [name] of pairs) list.append(make('div', {}, make('dt', {}, name), make('dd')));
  }
  for (const [at, [, value]] of pairs.entries()) {
    const cell = list.children[at]?.lastElementChild;
    if (cell) show(cell, value);
  }
}

/**
 * @param {string} name
 * @param {NonNullable<NonNullable<RunState['progress']>['billed']>} billed
 * @returns {readonly [string, string]}
 */
function billedNumber(name, { units, unit }) {
  return [name, amount(units, unit)];
}

/**
 * @param {NonNullable<RunState['logos']>} logos
 * @returns {readonly (readonly [string, string])[]}
 */
function logoNumbers({ saved, kept, missing }) {
  return [
    ['Logos saved', count(saved)],
    ['Logos kept', count(kept)],
    ['Logos missing', count(missing)],
  ];
}

/**
 * A focused button passes the focus on when it disappears.
 *
 * @param {RunState} run
 * @param {ReadonlyMap<RunAction, HTMLButtonElement>} buttons
 */
function showButtons(run, buttons) {
  const hadFocus = [...buttons.values()].includes(
    /** @type {HTMLButtonElement} */ (document.activeElement),
  );
  for (const [action, button] of buttons) button.hidden = !run.actions.includes(action);
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const isLost = hadFocus && (!focused || focused === document.body || focused.hidden);
  if (isLost) [...buttons.values()].find((button) => !button.hidden)?.focus();
}

/**
 * @param {RunState} run
 * @param {HTMLElement} place
 */
function showFailures({ failures }, place) {
  place.hidden = failures.length === 0;
  const rows = failures.map(({ domain, status, reason, httpStatus, atMs }) => [
    domain,
    status,
    reason,
    httpStatus === undefined ? '–' : String(httpStatus),
    time(atMs),
  ]);
  showTable(place, table('Recent failures', ['Domain', 'Status', 'Reason', 'HTTP', 'At'], rows));
}

/**
 * @param {RunState} run
 * @param {HTMLElement} place
 */
function showAnswers({ answers }, place) {
  place.hidden = answers.length === 0;
  const rows = answers.map(({ domain, text }) => [domain, text]);
  showTable(place, table('Some of the last answers', ['Domain', 'Answer'], rows));
}

/**
 * @param {HTMLElement} list
 * @param {readonly string[]} lines
 */
function showLines(list, lines) {
  list.replaceChildren(...lines.map((line) => make('li', {}, line)));
  list.hidden = lines.length === 0;
}
