import type { RuleFile } from './profile-schema.ts';
import type { Profile, ProfileProblem } from './read-profile.ts';
import { rangesOf } from './rules.ts';

/**
 * Finds rules that can never fit, because those before them fit whatever they would. They break
 * nothing, but were meant to say something.
 */
export function findDeadRules({ content: { rules = [] } }: Profile): readonly ProfileProblem[] {
  return rules.flatMap((rule, at) => {
    const before = rules.slice(0, at).filter((earlier) => asksNoMore(earlier.when, rule.when));
    const taken = before.map((earlier) => statusesOf(earlier));
    const isDead = [...statusesOf(rule)].every((status) => taken.some((set) => set.has(status)));
    if (!isDead || before.length === 0) return [];
    const names = before.map((earlier) => rules.indexOf(earlier) + 1);
    const by = names.length === 1 ? `rule ${names[0]} fits` : `rules ${names.join(', ')} fit`;
    const message = `rule ${at + 1} can never fit: ${by} whatever it would; move it up, or leave it out`;
    return [{ path: ['rules', at], message }];
  });
}

type When = RuleFile['when'];

/** Whether a rule asks nothing of header and body that the later one does not ask as well. */
function asksNoMore({ header, body }: When, later: When): boolean {
  const fitsBody = body === undefined || body === later.body;
  if (header === undefined) return fitsBody;
  const isSameHeader = header.name.toLowerCase() === later.header?.name.toLowerCase();
  const fitsPattern = header.pattern === undefined || header.pattern === later.header?.pattern;
  return fitsBody && isSameHeader && fitsPattern;
}

function statusesOf({ when: { status } }: RuleFile): ReadonlySet<number> {
  const statuses = new Set<number>();
  for (const [from, to] of status === undefined ? [ALL] : rangesOf(status)) {
    for (let one = from; one <= to; one += 1) statuses.add(one);
  }
  return statuses;
}

const ALL = [100, 599] as const;
