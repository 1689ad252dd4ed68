import { describe, expect, it } from 'vitest';
import { groupOf, readPlace } from '../../src/schedule/group.ts';

describe('groupOf', () => {
  it('is the same for one file of a folder and for all of them', () => {
    const one = groupOf(['/srv/crm/jobs'], undefined);
    expect(one.name).toMatch(/^jobs-[0-9a-f]{6}$/);
    expect(groupOf(['/srv/crm/jobs', '/srv/crm/jobs'], undefined)).toEqual(one);
  });

  it('is another one for a folder of the same name', () => {
    const groups = ['/srv/crm/jobs', '/srv/shop/jobs'].map((folder) =>
      groupOf([folder], undefined),
    );
    expect(groups[0]?.name).not.toBe(groups[1]?.name);
  });

  it.each([
    [['/srv/crm/jobs', '/srv/shop/jobs'], '/srv', /^srv-/],
    [['/srv/crm', '/srv/crm/jobs'], '/srv/crm', /^crm-/],
    [['/srv/crm', '/srv/crm2'], '/srv', /^srv-/],
    [['/srv', '/var'], '/', /^root-/],
    [['/srv/Ünsere Jobs'], '/srv/Ünsere Jobs', /^-nsere-Jobs-/],
  ])('is named after the folder of all: %j', (folders, folder, name) => {
    const group = groupOf(folders, undefined);
    expect(group.folder).toBe(folder);
    expect(group.name).toMatch(name);
  });

  it('is called as it was told to', () => {
    expect(groupOf(['/srv/jobs'], 'nightly').name).toBe('nightly');
  });
});

it('a schedule serves its metrics under the names that may ask for them', () => {
  const options = { queue: 'redis://localhost:6379/0', allowHost: ['ops.example'] };
  const { settings } = readPlace(options, (key) => key);
  expect(settings.allowHost).toEqual([{ hostname: 'ops.example', port: undefined }]);
});
