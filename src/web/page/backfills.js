import { make, show } from './dom.js';
import { counted } from './format.js';

/** @import { BacklogState } from '../board.ts' */

/**
 * The chunks that wait on the queue, and the button for those that belong to no run.
 *
 * @typedef {object} Backfills
 * @property {HTMLElement} element
 * @property {(backlog: BacklogState) => void} show
 */

/**
 * @param {(action: 'pause' | 'resume') => void} ask
 * @returns {Backfills}
 */
export function createBackfills(ask) {
  const words = make('p', { role: 'status', class: 'phase' });
  const about = make(
    'p',
    { class: 'about', id: 'about-backfills' },
    'Lookups that brandfill add or another service put on the queue, for no run. Runs go on while these are paused.',
  );
  const button = make('button', { type: 'button', 'aria-describedby': 'about-backfills' });
  let isPaused = false;
  button.addEventListener('click', () => ask(isPaused ? 'resume' : 'pause'));
  const element = make('article', {}, words, about, make('div', { class: 'buttons' }, button));

  return {
    element,
    show: (backlog) => {
      ({ isPaused } = backlog);
      element.dataset['phase'] = isPaused ? 'paused' : '';
      show(words, describe(backlog));
      show(button, isPaused ? 'Resume backfills' : 'Pause backfills');
    },
  };
}

/** @param {BacklogState} backlog */
function describe({ isPaused, waiting, aside }) {
  const line =
    waiting === 0
      ? 'Nothing waits on the queue.'
      : `${counted(waiting, 'chunk')} of runs and backfills ${waiting === 1 ? 'waits' : 'wait'} for a worker.`;
  if (!isPaused) return line;
  return `Paused: no call is made for backfills${aside > 0 ? `, ${counted(aside, 'chunk')} set aside` : ''}. ${line}`;
}
