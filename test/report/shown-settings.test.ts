import { describe, expect, it } from 'vitest';
import { showSettings } from '../../src/report/report.ts';
import { settingsOf } from './recordings.ts';

function shown(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const settings = showSettings(settingsOf(given));
  return Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}

describe('the settings of a report', () => {
  it('show no secret: of parameters and headers the names, of a queue no login', () => {
    const settings = shown({
      auth: 'header:X-Key',
      params: ['token=hush', 'lang=de'],
      headers: { 'X-Signature': 'hush' },
      queue: 'redis://user:hu%40%2Fsh@redis.example.com:6379/0',
    });
    expect(JSON.stringify(settings)).not.toMatch(/hush|hu%40|sh@|the-key/);
    expect(settings).toMatchObject({
      '--auth': 'header:X-Key',
      '--param': 'token, lang (values not shown)',
      '--header': 'X-Signature (values not shown)',
      '--queue': 'redis://redis.example.com:6379/0',
      '--base-url': 'https://api.example.com',
    });
  });

  it('are written as people write them', () => {
    expect(
      shown({
        rate: '300/min',
        maxCallsPer: '1000/day',
        maxFailed: '12.5%',
        price: '0.000125',
        timeout: 90_000,
        fresh: '0',
        fields: 'name=name,city=location.city',
        fill: ['Industry=industry'],
        logos: 'logos',
        logoField: 'logos[0].url',
        logoAllow: ['media.example:8080', 'localhost'],
        registrable: true,
        encoding: 'cp1252',
        report: ['a.html', 'b.json'],
      }),
    ).toMatchObject({
      '--rate': '5/s',
      '--max-calls-per': '1,000/day',
      '--max-failed': '12.5 %',
      '--price': '0.000125',
      '--timeout': '1 min 30 s',
      '--fresh': '0',
      '--fields': 'name=name, city=location.city',
      '--fill': 'Industry=industry',
      '--logo-field': 'logos[0].url',
      '--logo-max-size': '1.0 MB',
      '--logo-allow': 'media.example:8080, localhost',
      '--registrable': 'yes',
      '--encoding': 'Windows-1252',
      '--report': 'a.html, b.json',
    });
  });

  it('say which are the defaults', () => {
    const settings = showSettings(settingsOf({ retries: 5, timeout: '1min', concurrency: 8 }));
    const given = settings.filter(({ isDefault }) => !isDefault).map(({ name }) => name);
    expect(given).toEqual(['--base-url', '--concurrency']);
  });
});
