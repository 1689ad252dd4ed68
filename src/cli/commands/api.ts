import { isStandard, STANDARD_NAMES } from '../../collector/fields/standard.ts';
import { countOf } from '../../common/format.ts';
import { refusing } from '../../options/option.ts';
import { readProfile, readProfileText, shippedProfiles } from '../../profile/read-profile.ts';
import { judgeSample } from '../../profile/samples.ts';
import { defineCommand, print } from './command.ts';

/** `brandfill api list` */
export const list = defineCommand({}, async () => {
  const names = shippedProfiles();
  const width = Math.max(0, ...names.map((name) => name.length));
  for (const name of names) {
    const { title, content } = readProfile(name);
    const tried = content.triedLive ? 'tried' : 'not tried';
    print(
      `${name.padEnd(width)}  ${title}; as documented on ${content.asOf}, ${tried} against the live service`,
    );
  }
});

const START = 'Cannot use the profile:';

/** `brandfill api show` */
export const show = defineCommand({}, async ({ words: [name = ''] }) => {
  print(refusing(START, () => readProfileText(name)).trimEnd());
});

/** `brandfill api check` */
export const check = defineCommand({}, async ({ words: [file = ''] }) => {
  const { content, api } = refusing(START, () => readProfile(file));
  const { rules = [], samples = [], columns = {} } = content;
  const others = Object.keys(columns).filter((name) => !isStandard(name));
  const seen = new Set(samples.map((sample) => judgeSample(sample, api).rule));
  const unseen = rules.flatMap((_, at) => (seen.has(at + 1) ? [] : [at + 1]));
  print(
    `${file} is right: ${countOf(rules.length, 'rule')}, ${countOf(samples.length, 'sample')} that mean what they should.`,
    ...(unseen.length === 0 ? [] : [`No sample shows rule ${unseen.join(', ')} at work.`]),
    ...(others.length === 0 ? [] : [describeOthers(others)]),
  );
});

function describeOthers(names: readonly string[]): string {
  return `No standard column, so that no other API fills it: ${names.join(', ')}. The standard ones are ${STANDARD_NAMES.join(', ')}.`;
}
