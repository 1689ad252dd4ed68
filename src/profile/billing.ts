import type { Answer } from '../brand/answer.ts';
import type { AnswerFacts, Billing } from '../brand/api-profile.ts';
import { fieldText } from '../brand/limit-headers/time.ts';
import { compileExpression } from '../collector/fields/expression.ts';
import type { BillingFile } from './profile-schema.ts';
import { tolerant } from './rules.ts';
import { meaningOfAnswer } from './samples.ts';

const MICROS = 1_000_000;

/**
 * What an API bills for its answers. Where an answer says itself what it cost, that counts; else the
 * price, for answers that mean what is billed.
 */
export function compileBilling({ unit, price = 1, bills = ['found'], cost }: BillingFile): Billing {
  const priceMicros = Math.round(price * MICROS);
  const billed: ReadonlySet<string> = new Set(bills);
  const findStated = cost === undefined ? () => undefined : compileCost(cost);
  return {
    unit,
    priceMicros,
    statedIn: findStated,
    costOf(answer: Pick<Answer, 'kind'>, facts: AnswerFacts) {
      const stated = findStated(facts);
      if (stated !== undefined) return stated;
      return billed.has(meaningOfAnswer(answer)) ? priceMicros : 0;
    },
  };
}

function compileCost(
  cost: NonNullable<BillingFile['cost']>,
): (facts: AnswerFacts) => number | undefined {
  if ('header' in cost) {
    const key = cost.header.toLowerCase();
    return ({ headers }) => {
      const value = headers[key];
      return value === undefined ? undefined : microsOf(fieldText(value));
    };
  }
  const find = tolerant(compileExpression(cost.body));
  return ({ json }) => microsOf(find(json()));
}

/** Undefined for anything but a number from 0 on, so that a malformed field bills as documented. */
function microsOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const number = value === '' ? Number.NaN : Number(value);
  const micros = Math.round(number * MICROS);
  return micros >= 0 && Number.isSafeInteger(micros) ? micros : undefined;
}
