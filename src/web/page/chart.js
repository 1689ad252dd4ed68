import { make, show } from './dom.js';
import { rate } from './format.js';
import uPlot from './uplot.js';

/** @import { RatePoint } from '../board.ts' */
/** @import { HoldUp } from '../../watch/waits.ts' */

/**
 * Calls per second against the limit, over the time of a run.
 *
 * @typedef {object} RateChart
 * @property {HTMLElement} element
 * @property {(points: readonly RatePoint[]) => void} show
 */

const HEIGHT = 160;
/**
 * The shaded hold-ups, each in the colour of that name.
 *
 * @type {Readonly<Record<HoldUp, string>>}
 */
const SHADES = {
  paused: 'paused by somebody',
  outage: 'the API was out',
  told: 'told to wait, or backing off',
};
/** Seconds between two lines: whole, round numbers. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30].flatMap((step) => [step, step * 60, step * 3_600]);
TIME_STEPS.sort((one, other) => one - other);

/** @returns {RateChart} */
export function createRateChart() {
  const words = make('span');
  const place = make('div', { class: 'plot', 'aria-hidden': 'true' });
  const key = make('ul', { class: 'key', 'aria-label': 'Shaded in the chart' });
  const element = make('figure', {}, place, make('figcaption', {}, words, key));
  /** @type {readonly RatePoint[]} */
  let shown = [];
  /** @type {uPlot | undefined} */
  let plot;
  /** @type {uPlot.AlignedData} */
  let data = [[], [], []];

  /** @param {number} width */
  function draw(width) {
    if (width === 0) return;
    plot ??= new uPlot(
      optionsOf(width, (chart) => shade(chart, shown)),
      data,
      place,
    );
    if (plot.width !== width) plot.setSize({ width, height: HEIGHT });
  }

  new ResizeObserver(([entry]) => draw(Math.floor(entry?.contentRect.width ?? 0))).observe(place);

  return {
    element,
    show: (points) => {
      shown = points;
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
      showKey(key, points);
    },
  };
}

/**
 * Explains the shades that are there.
 *
 * @param {HTMLElement} key
 * @param {readonly RatePoint[]} points
 */
function showKey(key, points) {
  const there = Object.entries(SHADES).filter(([kind]) =>
    points.some((point) => point[3] === kind),
  );
  const texts = there.map(([, text]) => text);
  if (key.textContent !== texts.join('')) {
    const items = there.map(([kind, text]) => make('li', {}, make('i', { class: kind }), text));
    key.replaceChildren(...items);
  }
  key.hidden = there.length === 0;
}

/**
 * Shades the time in which calls were held up, behind everything else.
 *
 * @param {uPlot} chart
 * @param {readonly RatePoint[]} points
 */
function shade(chart, points) {
  const { left, top, width, height } = chart.bbox;
  const placeOf = (/** @type {number} */ seconds) =>
    Math.min(left + width, Math.max(left, chart.valToPos(seconds, 'x', true)));
  for (const [at, [end, , , heldBy]] of points.entries()) {
    if (!heldBy) continue;
    const begin = placeOf(points[at - 1]?.[0] ?? 0);
    chart.ctx.fillStyle = color(`--${heldBy}`);
    chart.ctx.fillRect(begin, top, placeOf(end) - begin, height);
  }
}

/** @param {string} name */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * @param {number} width
 * @param {(chart: uPlot) => void} drawBehind
 * @returns {uPlot.Options}
 */
function optionsOf(width, drawBehind) {
  const line = { stroke: color('--line'), width: 1 };
  const axis = { stroke: color('--quiet'), grid: line, ticks: line };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    hooks: { drawClear: [drawBehind] },
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
