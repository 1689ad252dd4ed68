import { describe, expect, it } from 'vitest';
import { findNearest } from '../../src/common/text.ts';
import { type Declaration, flagOf, OPTIONS } from '../../src/options/options.ts';
import { read, refusalOf } from './read-settings.ts';

describe('settings', () => {
  it('have defaults', () => {
    expect(read({})).toEqual({
      out: undefined,
      failures: undefined,
      changes: undefined,
      key: undefined,
      merge: undefined,
      fill: undefined,
      baseUrl: undefined,
      auth: { kind: 'none' },
      apiKeyFile: undefined,
      params: undefined,
      headers: undefined,
      domainColumn: undefined,
      registrable: undefined,
      keepFreeMail: undefined,
      keepSharedHosts: undefined,
      fields: undefined,
      maxColumns: 40,
      prefix: 'brand_',
      logos: undefined,
      logoField: undefined,
      logoMaxSize: 1_000_000,
      logoConcurrency: 4,
      logoAllow: undefined,
      concurrency: 32,
      rate: 'auto',
      retries: 5,
      timeout: 60_000,
      maxWait: 900_000,
      maxOutage: 3_600_000,
      maxPending: 600_000,
      maxCalls: undefined,
      maxCallsPer: undefined,
      maxFailed: 0.2,
      price: undefined,
      confirmAbove: 0,
      yes: undefined,
      fresh: 30 * 86_400_000,
      freshNotFound: 7 * 86_400_000,
      freshRejected: 7 * 86_400_000,
      freshJitter: 0.2,
      refresh: undefined,
      onlyMissing: undefined,
      store: '.brandfill',
      queue: undefined,
      workers: 1,
      chunk: 50,
      thenOn: ['not_found'],
      window: undefined,
      lostAfter: 15_000,
      acceptEviction: undefined,
    });
  });

  it('come from the environment where they are not given', () => {
    const env = {
      BRANDFILL_BASE_URL: 'https://env.example',
      BRANDFILL_AUTH: 'bearer',
      BRANDFILL_STORE: '/env/store',
    };
    expect(read({}, env)).toMatchObject({
      baseUrl: 'https://env.example',
      auth: { kind: 'bearer' },
      store: '/env/store',
    });
    expect(
      read({ baseUrl: 'https://given.example', auth: 'none', store: 'given' }, env),
    ).toMatchObject({ baseUrl: 'https://given.example', auth: { kind: 'none' }, store: 'given' });
  });

  it('take an empty variable for none', () => {
    expect(read({}, { BRANDFILL_AUTH: '', BRANDFILL_STORE: '' })).toMatchObject({
      auth: { kind: 'none' },
      store: '.brandfill',
      queue: undefined,
      workers: 1,
      chunk: 50,
      window: undefined,
      lostAfter: 15_000,
      acceptEviction: undefined,
    });
  });

  it('say whether a flag or a variable is wrong', () => {
    expect(refusalOf({ auth: 'x' })).toMatch(/^Cannot use --auth: /);
    expect(refusalOf({}, { BRANDFILL_AUTH: 'x' })).toMatch(/^Cannot use BRANDFILL_AUTH: /);
  });

  it('have a description each, and defaults and variables as documented', () => {
    for (const [key, definition] of Object.entries(OPTIONS)) {
      expect(definition.description, key).not.toBe('');
    }
    const variables = Object.entries<Declaration>(OPTIONS).flatMap(([key, { env }]) =>
      env ? [[key, env]] : [],
    );
    expect(variables).toEqual([
      ['api', 'BRANDFILL_API'],
      ['baseUrl', 'BRANDFILL_BASE_URL'],
      ['auth', 'BRANDFILL_AUTH'],
      ['then', 'BRANDFILL_THEN'],
      ['store', 'BRANDFILL_STORE'],
      ['queue', 'BRANDFILL_QUEUE'],
    ]);
  });

  it('are called as on the command line', () => {
    expect(['baseUrl', 'apiKeyFile', 'freshNotFound', 'out'].map(flagOf)).toEqual([
      '--base-url',
      '--api-key-file',
      '--fresh-not-found',
      '--out',
    ]);
  });
});

it.each([
  ['freshh', 'fresh'],
  ['base-url', 'baseUrl'],
  ['BASE_URL', 'baseUrl'],
  ['concurency', 'concurrency'],
  ['headers', 'header'],
  ['domain', 'domainColumn'],
  ['output', 'out'],
  ['quota', undefined],
  ['x', undefined],
])('%s is probably %s', (word, meant) => {
  const known = [
    'baseUrl',
    'fresh',
    'freshNotFound',
    'concurrency',
    'header',
    'out',
    'domainColumn',
  ];
  expect(findNearest(word, known)).toBe(meant);
});
