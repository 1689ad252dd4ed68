import { make, show } from './dom.js';
import { rate } from './format.js';
import uPlot from './uplot.js';

/** @import { RatePoint } from '../board.ts' */

/**
 * Calls per second against the limit, over the time of a run.
 *
 * @typedef {object} RateChart
 * @property {HTMLElement} element
 * @property {(points: readonly RatePoint[]) => void} show
 */

const HEIGHT = 160;
/** Seconds between two lines: whole ones, and round ones. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30].flatMap((step) => [step, step * 60, step * 3_600]);
TIME_STEPS.sort((one, other) => one - other);

/** @returns {RateChart} */
export function createRateChart() {
  const words = make('figcaption');
  const place = make('div', { class: 'plot', 'aria-hidden': 'true' });
  const element = make('figure', {}, place, words);
  /** @type {uPlot | undefined} */
  let plot;
  /** @type {uPlot.AlignedData} */
  let data = [[], [], []];

  /** @param {number} width */
  function draw(width) {
    if (width === 0) return;
    plot ??= new uPlot(optionsOf(width), data, place);
    if (plot.width !== width) plot.setSize({ width, height: HEIGHT });
  }

  new ResizeObserver(([entry]) => draw(Math.floor(entry?.contentRect.width ?? 0))).observe(place);

  return {
    element,
    show: (points) => {
      data = [
        points.map(([seconds]) => seconds),
        points.map(([, calls]) => calls),
        points.map(([, , limit]) => limit),
      ];
      plot?.setData(data);
      const [, calls, limit] = points.at(-1) ?? [];
      element.hidden = calls === undefined;
      if (calls === undefined) return;
      const known = typeof limit === 'number' ? `limit ${rate(limit)} (dashed)` : 'no limit known';
      show(words, `Calls per second over time, and the limit: ${rate(calls)} lately, ${known}.`);
    },
  };
}

/**
 * @param {number} width
 * @returns {uPlot.Options}
 */
function optionsOf(width) {
  const style = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const line = { stroke: color('--line'), width: 1 };
  const axis = { stroke: color('--quiet'), grid: line, ticks: line };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, incrs: TIME_STEPS, values: (_, seconds) => seconds.map(clock) },
      { ...axis, size: 48, space: 28 },
    ],
    series: [
      {},
      {
        label: 'calls per second',
        stroke: color('--accent'),
        width: 2,
        fill: color('--tint'),
        points: { show: false },
      },
      {
        label: 'limit',
        stroke: color('--limit'),
        width: 2,
        dash: [6, 4],
        points: { show: false },
      },
    ],
  };
}

/** @param {number} seconds */
function clock(seconds) {
  const rest = String(Math.floor(seconds % 60)).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}
