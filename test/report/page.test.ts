import { type DefaultTreeAdapterMap, parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { renderReport } from '../../src/report/page.ts';
import type { RunReport } from '../../src/report/run-report.ts';
import { createStatusCounts } from '../../src/watch/summary.ts';
import { columnAt, progressAt, recordRun, reportOf, rowOf, summaryOf } from './recordings.ts';

type Node = DefaultTreeAdapterMap['node'];
type Element = DefaultTreeAdapterMap['element'];

/** Every element of a page, read as a browser reads it. */
function elementsOf(page: string): readonly Element[] {
  const found: Element[] = [];
  const visit = (node: Node): void => {
    if ('tagName' in node) found.push(node);
    if ('childNodes' in node) node.childNodes.forEach(visit);
  };
  visit(parse(page));
  return found;
}

function textOf(node: Node): string {
  if ('value' in node && node.nodeName === '#text') return node.value;
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';
}

function attribute({ attrs }: Element, name: string): string | undefined {
  return attrs.find((attr) => attr.name === name)?.value;
}

/** A report of a run in which everybody puts the same text wherever a text can be put. */
function reportFullOf(text: string): RunReport {
  const { recording, recorder, beginRows } = recordRun([columnAt(0, text)]);
  const column = { index: 1, name: text, by: 'name', example: undefined } as const;
  recorder.onEvent({ type: 'opened', input: text, format: text, column });
  recorder.onEvent({ type: 'notice', message: text });
  recorder.onEvent({ type: 'progress', ...progressAt(400, { calls: 3, done: 2 }) });
  const answer = { kind: 'refused', httpStatus: 500, reason: text } as const;
  recorder.answered({ domain: text, answer, latencyMs: 5 }, 100);
  beginRows().take([
    rowOf({ values: [text] }),
    rowOf({ domain: text, status: 'failed', reason: text, raw: `${text},${text}`, attempts: 3 }),
  ]);
  const statuses = { ...createStatusCounts(), found: 1, failed: 1 };
  const files = { out: text, failures: text, changes: { file: text, new: 1, changed: 1 } };
  const filled = { [text]: 1 };
  const summary = summaryOf({ rows: 2, statuses, calls: 3, ...files, filled });
  return reportOf({ recording, summary });
}

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title></style></svg></desc><script>alert(1)</script>',
  '<!--',
  ']]>',
  '&lt;b&gt;',
  '`${alert(1)}`',
];

describe('the page of a report', () => {
  it.each(HOSTILE)('shows %s as text, wherever it comes from', (text) => {
    const plain = elementsOf(renderReport(reportFullOf('plain')));
    const page = renderReport(reportFullOf(text));
    const elements = elementsOf(page);
    expect(elements.map(({ tagName }) => tagName)).toEqual(plain.map(({ tagName }) => tagName));
    const names = (all: readonly Element[]): string[] =>
      all.flatMap(({ attrs }) => attrs.map(({ name }) => name));
    expect(names(elements)).toEqual(names(plain));
    const shown = elements.filter((element) => textOf(element) === text);
    expect(shown.length).toBeGreaterThan(8);
  });

  it('loads nothing, runs nothing, links nowhere, and says so to the browser', () => {
    const page = renderReport(reportFullOf('https://evil.example/x.png'));
    const elements = elementsOf(page);
    const tags = new Set(elements.map(({ tagName }) => tagName));
    for (const tag of ['script', 'link', 'img', 'iframe', 'a', 'form', 'object', 'image', 'use']) {
      expect(tags).not.toContain(tag);
    }
    const names = elements.flatMap(({ attrs }) => attrs.map(({ name }) => name));
    expect(names.filter((name) => /^(on|src|href|action|xlink)/.test(name))).toEqual([]);
    const [style] = elements.filter(({ tagName }) => tagName === 'style').map(textOf);
    expect(style).not.toMatch(/url\(|@import/);
    const policy = elements.find((meta) => attribute(meta, 'http-equiv') !== undefined);
    expect(policy && attribute(policy, 'content')).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline';/,
    );
  });

  it('names every chart, and has a header for every column of a table', () => {
    const elements = elementsOf(renderReport(reportFullOf('plain')));
    const charts = elements.filter(({ tagName }) => tagName === 'svg');
    expect(charts).toHaveLength(2);
    for (const chart of charts) {
      const named = (attribute(chart, 'aria-labelledby') ?? '').split(' ');
      const names = named.map((id) => elements.find((element) => attribute(element, 'id') === id));
      expect(names.map((name) => name?.tagName)).toEqual(['title', 'desc']);
    }
    const tables = elements.filter(({ tagName }) => tagName === 'table');
    expect(tables.length).toBeGreaterThan(8);
    for (const table of tables) {
      const cells = [...descendants(table)];
      const heads = cells.filter((cell) => attribute(cell, 'scope') === 'col');
      const rows = cells.filter(({ tagName }) => tagName === 'tr').slice(1);
      for (const row of rows) {
        expect([...descendants(row)].filter(({ tagName }) => /^t[hd]$/.test(tagName))).toHaveLength(
          heads.length,
        );
      }
    }
  });

  it('says first whether it worked', () => {
    const headlineOf = (report: RunReport): string =>
      textOf(elementsOf(renderReport(report)).find(({ tagName }) => tagName === 'h1') as Element);
    expect(headlineOf(reportFullOf('x'))).toBe('Done: 1 of 2 rows enriched, 1 row failed.');
    expect(headlineOf(reportOf())).toBe('Done: the list has no rows.');
    const error = { thrown: new Error('Disk'), message: 'The disk is full.' };
    expect(headlineOf(reportOf({ error }))).toMatch(/^It ended with an error/);
  });

  it('of a run without a call says so, and has no chart', () => {
    const page = renderReport(reportOf({ summary: summaryOf({ rows: 3, uniqueDomains: 3 }) }));
    expect(page).toContain('No call was made: the outcomes of all domains were fresh.');
    expect(page).not.toContain('<svg');
    const empty = renderReport(reportOf());
    expect(empty).toContain('No call was made: the list has no domains.');
    expect(empty).toContain('The list has no rows.');
  });

  it.each([
    ['interrupted', 'not asked; the run stopped first'],
    ['pruned', 'the outcome was removed from the store meanwhile'],
  ])('says what became of rows that were skipped: %s', (reason, meaning) => {
    const { recording, beginRows } = recordRun();
    beginRows().take([rowOf({ status: 'skipped', reason })]);
    expect(renderReport(reportOf({ recording, summary: undefined }))).toContain(meaning);
  });

  it('shades the time in which the run was paused, and says what that is', () => {
    const shownOf = (isPaused: boolean): readonly (string | undefined)[] => {
      const { recording, recorder } = recordRun();
      for (const atMs of [250, 500, 750]) {
        recorder.onEvent({ type: 'progress', ...progressAt(atMs, { calls: 3, isPaused }) });
      }
      const elements = elementsOf(
        renderReport(reportOf({ recording, summary: summaryOf({ calls: 3 }) })),
      );
      return [
        elements.find((rect) => attribute(rect, 'class') === 'band paused'),
        elements.find((item) => item.tagName === 'li' && textOf(item) === 'paused by somebody'),
        elements.find((cell) => textOf(cell) === 'paused by somebody, which the average counts in'),
      ].map((found) => found?.tagName);
    };
    expect(shownOf(true)).toEqual(['rect', 'li', 'th']);
    expect(shownOf(false)).toEqual([undefined, undefined, undefined]);
  });

  it('holds no character that a page may not hold', () => {
    const page = renderReport(reportFullOf('a\u0000b\u0008c\u202ed'));
    for (const unwelcome of ['\u0000', '\u0008', '\u202e']) expect(page).not.toContain(unwelcome);
  });
});

function* descendants(node: Node): Generator<Element> {
  for (const child of 'childNodes' in node ? node.childNodes : []) {
    if ('tagName' in child) yield child;
    yield* descendants(child);
  }
}

it('a report does not call a 200 an answer that has no JSON object', () => {
  const { recording, recorder } = recordRun();
  const answer = { kind: 'invalid_response', httpStatus: 200, reason: 'invalid_response' } as const;
  recorder.answered({ domain: 'acme.com', answer, latencyMs: 5 }, 100);
  const summary = summaryOf({ calls: 1 });
  const rows = elementsOf(renderReport(reportOf({ recording, summary })))
    .filter(({ tagName }) => tagName === 'tr')
    .map((row) => row.childNodes.map((cell) => textOf(cell).trim()).filter((text) => text !== ''));
  expect(rows).toContainEqual(['invalid_response', '200 without a JSON object', '1', '100 %']);
  expect(rows.some(([name]) => name === '200')).toBe(false);
});
