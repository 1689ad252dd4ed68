import { expect, it } from 'vitest';
import { type RunEvent, tryDomain } from '../../src/index.ts';
import { openApi } from './support/api.ts';
import { openFolder } from './support/folder.ts';

it('a callback that throws ends a trial, also where a timer calls it', async () => {
  const defect = new Error('a defect of the program');
  const { url: baseUrl } = await openApi({ latencyMs: 1_000 });
  const onEvent = ({ type }: RunEvent): void => {
    if (type === 'progress') throw defect;
  };
  const store = openFolder().at('store');
  await expect(tryDomain({ domain: 'acme.com', baseUrl, store, onEvent })).rejects.toBe(defect);
});
