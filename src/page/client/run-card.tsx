import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { howFar, type RunAction, type RunView } from '../../watch/run-view.ts';
import { describeWait, STATUSES, type StatusName, seenOf } from '../../watch/words.ts';
import { isOver } from '../board.ts';
import { Chart } from './chart.tsx';
import { Button, Figures, Progress, SureButton, Table } from './components.tsx';
import { costOf, count, counted, duration, rate, share, time } from './format.ts';
import { phaseOf } from './moment.ts';

const ACTIONS = { pause: 'Pause', resume: 'Go on' } as const;

const TONES: Readonly<Record<string, string>> = {
  done: 'good',
  paused: 'warning',
  some_failed: 'warning',
  nothing_found: 'warning',
  stopped: 'warning',
  error: 'bad',
  lost: 'bad',
};

export interface RunProps {
  readonly view: RunView;
  /** Missing where nothing can be asked of it, as in a report. */
  readonly onAsk?: ((action: RunAction) => void) | undefined;
  /** What more can be done with it. */
  readonly children?: ComponentChildren;
}

/** One run of those that a page shows. */
export function RunCard({
  isAlone = false,
  ...run
}: RunProps & { readonly isAlone?: boolean }): JSX.Element {
  const { view } = run;
  const tone = TONES[view.isPaused ? 'paused' : (view.end ?? view.phase)] ?? '';
  const Heading = isAlone ? 'h2' : 'h3';
  return (
    <article class="card">
      <div class="head">
        <Heading>{view.list}</Heading>
        <p class={`phase ${tone}`} role={isAlone ? undefined : 'status'}>
          {phaseOf(view)}
        </p>
      </div>
      {view.headline === undefined ? null : (
        <p>
          <strong>{view.headline}</strong>
        </p>
      )}
      <Run {...run} isOpen={isAlone || !isOver(view)} />
    </article>
  );
}

/** Where a run is, what can be asked of it, and everything that is known of it. */
export function Run({
  view,
  onAsk,
  children,
  isOpen = false,
}: RunProps & { readonly isOpen?: boolean }): JSX.Element {
  const { why, next, wait, actions } = view;
  // A run that somebody looks at stays open when it ends.
  const wasOpen = useRef(isOpen);
  return (
    <>
      {why === undefined ? null : <p>{why}</p>}
      {next === undefined ? null : <p>{next}</p>}
      {isOver(view) ? null : <Bar view={view} />}
      {wait ? <p class="wrong">{describeWait(wait)}</p> : null}
      {onAsk && actions.length > 0 ? (
        <div class="actions">
          {actions.map((action) => {
            const ask = (): void => onAsk(action);
            if (action === 'stop') {
              return <SureButton key={action} text="Stop" what={view.list} onSure={ask} />;
            }
            return (
              <Button key={action} onPress={ask}>
                {ACTIONS[action]}
              </Button>
            );
          })}
        </div>
      ) : null}
      {children}
      <p class="hint">{aboutOf(view)}</p>
      <details open={wasOpen.current}>
        <summary>Rows, speed, reasons</summary>
        <Details view={view} />
      </details>
      <details>
        <summary>For support</summary>
        <p class="hint">{forSupport(view)}</p>
      </details>
    </>
  );
}

function aboutOf(view: RunView): string {
  const { schedule, startedAt, endedAt, api, queue } = view;
  return [
    `${endedAt === undefined ? 'Asks' : 'Asked'} ${api}`,
    ...(queue === undefined ? [] : [`queue ${queue}`]),
    ...(schedule ? [`schedule ${schedule.job}`] : []),
    `started ${time(startedAt)}`,
    ...(endedAt === undefined ? [] : [`ended ${time(endedAt)}`]),
  ].join(', ');
}

function forSupport({ runId, pid, host, exitCode, brandfill }: RunView): string {
  const code = exitCode === undefined ? '' : `, exit code ${exitCode}`;
  return `Brandfill ${brandfill}, run ${runId}, process ${pid} on ${host}${code}`;
}

function Bar({ view }: { readonly view: RunView }): JSX.Element {
  const { phase, leftMs } = view;
  const far = howFar(view);
  const left = leftMs === undefined ? '' : `, about ${duration(leftMs)} left`;
  const isReading = phase === 'reading';
  const text = isReading
    ? 'The list is being read…'
    : `${far.percent} %: ${count(far.done)} of ${count(far.total)} ${far.unit}${left}.`;
  return (
    <Progress
      label={`Progress of ${view.list}`}
      part={isReading ? undefined : far.percent / 100}
      text={text}
    />
  );
}

/** All sections of what is known of a run, each if there is something to say. */
function Details({ view }: { readonly view: RunView }): JSX.Element {
  const { spans, spanMs, answers, calls, columns, statuses } = view;
  const enriched = statuses.found + statuses.stale;
  const answered = Object.values(answers).reduce((sum, times) => sum + times, 0);
  return (
    <>
      <Rows view={view} />
      <Reasons view={view} />
      {view.findings && view.findings.length > 0 ? (
        <section aria-label="What was found out about the API">
          <strong>What was found out about the API</strong>
          {view.findings.map((finding) => (
            <p key={finding}>{finding}</p>
          ))}
        </section>
      ) : null}
      <Figures items={figuresOf(view)} />
      <Table
        caption="Each API"
        columns={['API', 'asked about#', 'found#', 'calls#', 'cost', 'limit']}
        rows={(view.sources ?? []).map((source) => [
          source.name,
          count(source.lookups),
          count(source.found),
          count(source.calls),
          costOf(source) ?? '',
          limitOf(source),
        ])}
      />
      {calls > 0 ? <Chart spans={spans} spanMs={spanMs} /> : null}
      <Table
        caption="Outages"
        columns={['from', 'until', 'what was seen']}
        rows={view.outages.map(({ from, until, why }) => [
          time(from),
          until === undefined ? 'the end' : time(until),
          seenOf(why),
        ])}
      />
      <Table
        caption={`What calls came to${view.queue === undefined ? '' : ` (${count(answered)} of this process)`}`}
        columns={['answer', 'calls#', 'share#']}
        rows={Object.entries(answers)
          .sort(([, one], [, other]) => other - one)
          .map(([answer, times]) => [answer, count(times), share(times, answered)])}
      />
      {columns.length > 0 ? (
        <details>
          <summary>Added columns</summary>
          <Table
            caption="Added columns"
            hasHeading
            columns={['column', 'rows with a value#', 'of enriched#']}
            rows={columns.map(({ name, rows }) => [name, count(rows), share(rows, enriched)])}
          />
        </details>
      ) : null}
      {view.notices.length > 0 ? (
        <ul class="hint" aria-label="Notices">
          {view.notices.map((notice, at) => (
            <li key={at}>
              {time(notice.at)}: {notice.text}
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}

/** Rows by how they ended; while lookups are made, by how they stand. */
function Rows({ view }: { readonly view: RunView }): JSX.Element {
  const counts = view.statuses;
  const there = (Object.keys(STATUSES) as StatusName[]).filter((name) => (counts[name] ?? 0) > 0);
  return (
    <Table
      caption={view.store ? 'Rows by how they ended' : 'Rows so far'}
      columns={['status', 'rows#', 'share#', 'meaning']}
      rows={there.map((name) => [
        <span key={name} class={`badge ${STATUSES[name].tone}`}>
          {STATUSES[name].name}
        </span>,
        count(counts[name] ?? 0),
        share(counts[name] ?? 0, view.rows),
        STATUSES[name].means,
      ])}
    />
  );
}

/** Why rows were not enriched, the most frequent first, with examples and advice. */
function Reasons({ view }: { readonly view: RunView }): JSX.Element | null {
  const { reasons, rows, statuses } = view;
  const others = reasons.reduce((left, of) => left - of.rows, rows - statuses.found);
  if (reasons.length === 0) return null;
  return (
    <section aria-label="Why rows were not enriched">
      <strong>Why rows were not enriched</strong>
      {reasons.map((of, at) => (
        <details key={at} open={at < 3} class="reason">
          <summary>
            <span class={`badge ${STATUSES[of.status].tone}`}>{STATUSES[of.status].name}</span>{' '}
            {counted(of.rows, 'row')}, {share(of.rows, rows)}:{' '}
            <code>{of.said ?? (of.reason || 'no reason given')}</code>
          </summary>
          <p>{of.advice}</p>
          <p class="quiet">Such as {[...new Set(of.examples.map(exampleOf))].join(', ')}.</p>
        </details>
      ))}
      {others > 0 ? <p class="quiet">{counted(others, 'row')} more, for other reasons.</p> : null}
    </section>
  );
}

function limitOf({ limit, stopped }: NonNullable<RunView['sources']>[number]): string {
  if (stopped) return `stopped (${stopped.reason})`;
  return limit?.limitPerSecond === undefined ? 'not known' : rate(limit.limitPerSecond);
}

function exampleOf({ cell, domain }: RunView['reasons'][number]['examples'][number]): string {
  return cell === domain || domain === '' ? cell || '(a blank cell)' : `${cell} (${domain})`;
}

function figuresOf(view: RunView): readonly (readonly [string, string])[] {
  const { calls, phase, pendingNow, latency } = view;
  const isLive = phase === 'looking_up' || phase === 'stopping';
  const limit = view.limit?.limitPerSecond;
  const all: readonly (readonly [string, string | undefined])[] = [
    ['Calls', count(calls)],
    [
      isLive ? 'Calls per second now' : 'Calls per second, on average',
      rate(isLive ? view.ratePerSecond : view.callsPerSecond),
    ],
    [
      'Limit',
      view.pace?.replace(/^limit /, '') ?? (limit === undefined ? 'not known' : rate(limit)),
    ],
    ['Domains looked up', `${count(view.lookups)} of ${count(view.due)}`],
    ['Domains pending', pendingNow > 0 ? count(pendingNow) : undefined],
    ['Calls throttled (429 and the like)', count(view.throttled)],
    ['Lookups tried again', count(view.retries)],
    [view.bill ? 'Cost' : 'Cost, at most', costOf(view)],
    [
      'Half, and 95 %, of the calls within',
      latency && `${duration(latency.p50Ms)}, ${duration(latency.p95Ms)}`,
    ],
    ['Time', duration(view.elapsedMs)],
  ];
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}
