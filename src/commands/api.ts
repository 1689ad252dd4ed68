import { EXIT } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { flag } from '../options/kinds.ts';
import { option, refusing, under } from '../options/option.ts';
import { readProfile, readProfileText, shippedProfiles } from '../profile/read-profile.ts';
import { judgeSample } from '../profile/samples.ts';
import { defineCommand, print } from './command.ts';

const LIST_OPTIONS = under('What is shown', { json: option(flag(), { help: 'print JSON' }) });

/** `brandfill api list` */
export const list = defineCommand(LIST_OPTIONS, async ({ settings }) => {
  const listed = shippedProfiles().map((name) => {
    const { title, content } = readProfile(name);
    const { asOf, triedLive = false, request, sources = [] } = content;
    return { name, title, baseUrl: request.baseUrl, asOf, triedLive, sources };
  });
  if (settings.json) {
    print(JSON.stringify(listed));
    return EXIT.ok;
  }
  const width = Math.max(0, ...listed.map(({ name }) => name.length));
  print(
    ...listed.map(({ name, title, asOf, triedLive }) => {
      const tried = triedLive ? 'tried' : 'not tried';
      return `${name.padEnd(width)}  ${title}; as documented on ${asOf}, ${tried} against the live service`;
    }),
  );
  return EXIT.ok;
});

const START = 'Cannot use the profile:';

/** `brandfill api show` */
export const show = defineCommand({}, async ({ words: [name = ''] }) => {
  print(refusing(START, () => readProfileText(name)).trimEnd());
  return EXIT.ok;
});

/** `brandfill api check` */
export const check = defineCommand({}, async ({ words: [file = ''] }) => {
  const { content, api } = refusing(START, () => readProfile(file));
  const { rules = [], samples = [] } = content;
  const seen = new Set(samples.map((sample) => judgeSample(sample, api).rule));
  const unseen = rules.flatMap((_, at) => (seen.has(at + 1) ? [] : [at + 1]));
  print(
    `${file} is right: ${countOf(rules.length, 'rule')}, ${countOf(samples.length, 'sample')} that mean what they should.`,
    ...(unseen.length === 0 ? [] : [`No sample shows rule ${unseen.join(', ')} at work.`]),
  );
  return EXIT.ok;
});
