import { createPace, LOST_MS } from './pace.ts';

const FIRST = JSON.stringify(createPace(0, { limitPerMs: 0, cap: 0, isFixed: false }));

/**
 * The pace of one credential in Redis: `pace.ts` and `rate.ts` once more, for all workers together. A test
 * holds the two to the same numbers. One call does it all: it takes what ended since the last one, and gives
 * start times for the next moment.
 *
 * KEYS: the pace. ARGV: the worker, and what it says, as JSON: `events` of calls that ended, `want`ed starts,
 * `busy` calls under way and starts held, `lead` and `span` in ms until starts are of use and for how long,
 * its `rate`, where to `start`, and `gone`. Time is that of Redis,
 * and never goes back. Returns `now`, `starts`, the pace, and whether it is `sick`.
 */
export const PACE_SCRIPT = `
local INF = math.huge
local max, min, abs = math.max, math.min, math.abs
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local said = cjson.decode(ARGV[2])
if said.now then now = said.now end

local function create(at)
  local pace = cjson.decode('${FIRST}')
  pace.epochMs, pace.windowMs, pace.nextMs = at, at, at
  if said.start then
    pace.phase, pace.limitPerMs, pace.riseCalls = 'cruising', said.start.count / said.start.perMs, 80
    pace.ratePerMs = pace.limitPerMs * 0.98
  end
  return pace
end

local raw = redis.call('GET', KEYS[1])
local state = raw and cjson.decode(raw)
-- The clock of Redis may go back, as after a failover. Here it goes on from where it was.
local ahead = state and state.aheadMs or 0
if state and state.nowMs and state.nowMs - now - ahead > 1 then ahead = state.nowMs - now end
now = now + ahead
-- What another version has kept is as good as nothing.
if not state or not state.goods then state = { pace = create(now), workers = {}, goodMs = 0, goodBy = '', goods = 0 } end
local p = state.pace
-- Another version may have kept less of it.
for name, value in pairs(create(now)) do if p[name] == nil then p[name] = value end end

local function slot(at)
  local gap = 1 / p.ratePerMs
  if gap < 5 then return max(p.nextMs, at - 20) - 5 end
  local due = max(min(p.nextMs, p.lastMs + gap + 20), at - 20)
  return max(due, p.lastMs + gap / 1.5)
end

local function nextStart(at, busy)
  local most = p.cap > 0 and p.cap or INF
  if p.phase == 'starting' then most = min(most, p.window) end
  if p.state == 'testing' then
    if p.testMs > 0 and at - p.testMs < ${LOST_MS} then return INF end
  elseif busy >= most then
    return INF
  elseif p.phase ~= 'fixed' then
    return max(at, p.shutUntilMs, slot(at))
  end
  return max(at, p.shutUntilMs)
end

local function start(at)
  if p.state == 'testing' then p.testMs = at end
  local gap = 1 / p.ratePerMs
  p.nextMs = max(p.nextMs, at - min(gap, 20)) + gap
  local span = max(500, 10 * gap)
  p.flowPerMs = p.flowPerMs * math.exp(-max(0, at - max(p.lastMs, p.shutUntilMs)) / span) + 1 / span
  p.lastMs = max(p.lastMs, at)
end

local function isOld(sent)
  return sent <= p.cutMs or (p.state == 'testing' and (p.testMs == 0 or sent < p.testMs - 20))
end

local function learn(limit, margin, calls)
  p.limitPerMs = max(1 / 3600000, limit)
  p.margin = margin
  p.riseCalls = min(calls, 160)
  p.ratePerMs = p.limitPerMs * (1 - margin)
end

local function narrow(low, high, count)
  local from, to = max(low, p.limitPerMs * (1 - p.margin)), min(high, p.limitPerMs * (1 + p.margin))
  local isAgreed = from <= to * 1.02
  if isAgreed then low, high = min(from, to), max(from, to) end
  local middle = math.sqrt(low * high)
  local calls = isAgreed and 2 * p.riseCalls or (abs(middle / p.limitPerMs - 1) < 0.06 and 80 or 40)
  learn(middle, min(0.15, max(0.01, (high - low) / 2 / middle)), max(calls, min(count, 80)))
end

local function beginRound(window, at)
  p.window = window
  p.ratePerMs = window / max(40, p.latencyMs)
  p.windowLeft = window / 4
  p.windowMs = at
end

local function estimate(at, dead)
  local phase, count, last, rate = p.phase, p.epochAccepted, p.lastAccepted, p.ratePerMs
  local lasted = max(1, at - p.epochMs)
  local active = max(1, lasted - dead)
  local isAlike = dead > 0 and count >= 3 and abs(count - last) <= max(1, 0.1 * last * dead / lasted)
  local leastGap = p.isStated and 3000 or 0.2 * lasted + 3 * p.latencyMs
  local isWindow = isAlike or (not p.isStated and dead > leastGap)
  if dead > 0 then
    local isFree = phase == 'fixed' or (p.isStated and isWindow)
    p.deadMs = isFree and 0 or max(dead, p.isStated and 0 or p.deadMs / 2)
  end
  if phase == 'fixed' then return end
  if phase == 'published' then
    p.ratePerMs = rate * 0.98
    if p.ratePerMs < p.limitPerMs * 0.85 then p.phase = 'cruising' end
  elseif phase == 'starting' and count <= 1 then
    beginRound(4, at)
  elseif p.isAway and not isAlike then
    if phase == 'starting' then beginRound(max(4, p.window / 2), at) else learn(max(rate / 2, 0.001), 0.15, 40) end
  elseif phase == 'starting' and not isWindow then
    p.phase = 'cruising'
    learn(math.sqrt(count / lasted * min(count / active, rate / 3)), 0.15, 40)
  elseif phase == 'cruising' and count < 15 and not isAlike then
    local slower = rate * max(0.75, last / (last + 15), count / (count + 1))
    if last >= 15 then p.ratePerMs = slower else learn(slower, 0.02, 40) end
  elseif isWindow then
    p.phase, p.windowCalls = 'cruising', min(count, 320)
    local late = min(p.isStated and 1000 or dead / 4, lasted / 2) / 2
    narrow(count / (lasted + late), count / (lasted - late), count)
  elseif dead > leastGap then
    narrow(count / lasted, min(rate, count / active), count)
  else
    local top = rate * (lasted < 3000 + p.latencyMs and 0.95 or 1)
    local mean = min(top, count / active)
    narrow(mean, min(top, mean * (p.riseCalls > 40 and 1.1 or 1.3)), 0)
  end
end

local function reopen(sent, at)
  if p.state == 'testing' then
    estimate(at, max(0, sent - p.refusedMs))
    p.nextMs = max(at, sent + 1 / p.ratePerMs)
  end
  p.state = 'flowing'
  p.isAway = false
  p.lastAccepted = max(p.epochAccepted, p.lastAccepted / 8)
  p.epochMs = at
  p.epochAccepted = 0
end

local function rise()
  local rate, isSure, isDear = p.ratePerMs, p.riseCalls > 40, p.isStated and p.deadMs > 0
  local calls = max(isSure and p.riseCalls or max(10, min(p.riseCalls, rate * 10000)), (isSure and 10 or 1.5) * rate * p.latencyMs)
  if isDear and isSure then calls = max(calls, 10 * p.deadMs * rate) end
  local span = max(calls, p.accepted > calls and p.windowCalls or 0)
  local share = ((p.accepted - calls) / span) ^ 3
  local target = p.limitPerMs * (1 + p.margin * ((isDear or p.riseCalls > 80) and share or max(1, share)))
  local most = rate * (1 + (isSure and 0.05 or 0.25) / max(1, rate * max(p.latencyMs, 400)))
  p.ratePerMs = min(1000, max(rate, min(target, most, p.flowPerMs * 1.5)))
  if isSure and p.accepted >= calls + 2 * span then
    p.limitPerMs, p.margin, p.riseCalls, p.accepted = p.ratePerMs, 0.15, 40, 80
  end
end

local function widen(sent, at)
  if sent < p.windowMs then return end
  p.windowLeft = p.windowLeft - 1
  if p.windowLeft > 0 or at - p.windowMs < 40 then return end
  if p.window <= 16 then p.fewLatencyMs = p.latencyMs end
  local isHolding = p.latencyMs < 2 * p.fewLatencyMs + 100
  beginRound(isHolding and min(p.window + max(8, p.window / 3), 1024) or p.window, at)
end

local function accepted(call, at)
  if call.isAgain then p.before = nil end
  p.latencyMs = p.latencyMs + (call.latencyMs - p.latencyMs) * (p.latencyMs == 0 and 1 or 0.1)
  p.epochAccepted = p.epochAccepted + 1
  local quota = call.limits and call.limits.quota
  local limit = quota and quota.count / quota.perMs
  if limit and (p.phase == 'starting' or (p.phase == 'published' and math.abs(limit / p.limitPerMs - 1) > 0.001)) then
    p.phase, p.limitPerMs, p.ratePerMs, p.nextMs = 'published', limit, limit * 0.995, at
  end
  if isOld(call.sentAtMs) then return end
  if p.state ~= 'flowing' then reopen(call.sentAtMs, at) end
  p.accepted = p.accepted + 1
  local off = call.inFlight - p.flown
  p.flown = p.flown + off * 0.05
  p.flownVariance = p.flownVariance + (off * off - p.flownVariance) * 0.05
  if p.phase == 'starting' then widen(call.sentAtMs, at) elseif p.phase == 'cruising' then rise() end
  if p.cap > 0 and call.inFlight >= p.cap then
    p.atCap = p.atCap + 1
    if p.atCap >= 300 then p.cap, p.atCap = p.cap + 1, 0 end
  end
end

local function isOfCap(inFlight)
  local far = (inFlight - p.flown) / math.sqrt(max(1, p.flownVariance))
  p.crowded = far > 1.3 and p.accepted >= 15 and p.crowded + 1 or 0
  return p.crowded > 1 or (p.cap > 0 and inFlight >= p.cap and p.atCap < 50)
end

local function refused(call, at, how)
  local limits, stated = call.limits, call.retryAfterMs or 0
  if limits and limits.remaining == 0 then stated = max(stated, limits.resetMs or 0) end
  stated = min(stated, 3600000)
  if isOld(call.sentAtMs) then
    if stated > 0 and p.isStated then p.shutUntilMs = max(p.shutUntilMs, at + stated) end
    return
  end
  local isAgain = p.state ~= 'flowing'
  if not isAgain then
    p.refusedMs = at
    if not p.before then
      local pace = {}
      for name, value in pairs(p) do pace[name] = value end
      p.before = { atMs = at, pace = pace }
    end
  end
  local lasted = at - p.refusedMs
  p.cutMs = at
  p.isAway = how == 'away' or (how == 'failing' and lasted > 5000)
  p.isStated = stated > 0
  local isNew = not isAgain and not p.isAway and (p.phase == 'cruising' or p.phase == 'published')
  local isCrowd = isNew and isOfCap(call.inFlight)
  local isKnown = isNew and p.accepted >= 3
  p.accepted = 0
  if isCrowd then
    p.cap, p.atCap = max(1, call.inFlight - 1), 50
    p.shutUntilMs = at + stated
  elseif stated == 0 and isKnown then
    p.state = 'slower'
    estimate(at, 0)
    p.shutUntilMs = at + min(p.latencyMs, 2 / p.ratePerMs)
    p.nextMs = p.shutUntilMs
  else
    local least = p.isAway and 1000 or max(p.phase == 'fixed' and 500 or 50, p.deadMs / 4)
    p.shutUntilMs = at + (stated > 0 and stated or min(60000, max(least, lasted / 3)))
    p.state = 'testing'
    p.testMs = 0
  end
end

local function forget(at)
  local before = p.before
  if not before then return end
  local last, cut = p.lastMs, p.cutMs
  for name, value in pairs(before.pace) do p[name] = value end
  p.before, p.nextMs, p.lastMs, p.cutMs = nil, at, last, cut
  p.epochMs = p.epochMs + at - before.atMs
end

-- The workers that take part, and the slowest rate that one of them wants.
local others, rate = 0, nil
local mine = state.workers[ARGV[1]] or { goods = state.goods }
mine.busy, mine.seen, mine.rate = said.busy, now, said.rate
state.workers[ARGV[1]] = not said.gone and mine or nil
local count = 0
for id, worker in pairs(state.workers) do
  count = count + 1
  if now - worker.seen > 10000 then state.workers[id] = nil
  else
    if id ~= ARGV[1] then others = others + worker.busy end
    local its = worker.rate
    if its and (not rate or its.count / its.perMs < rate.count / rate.perMs) then rate = its end
  end
end
local fixed = state.fixed
if rate then
  if p.phase ~= 'fixed' then p.phase = 'fixed' end
  if not fixed or fixed.count ~= rate.count or fixed.perMs ~= rate.perMs then
    fixed = { count = rate.count, perMs = rate.perMs, last = fixed and fixed.last or -1e15, at = 0, starts = {} }
  end
elseif p.phase == 'fixed' then
  -- What was started at the rate still counts when it is stated again: perhaps a run is between two jobs.
  p = create(now)
  state.pace = p
end
state.fixed = fixed

local sick = false
for _, call in ipairs(said.events) do
  local at = min(call.atMs, now)
  call.inFlight = call.inFlight + others
  if call.how == 'good' then
    accepted(call, at)
    state.goodMs = max(state.goodMs, at)
    state.goodBy = ARGV[1]
    state.goods = state.goods + 1
    mine.goods = state.goods
  elseif call.how == 'refused' then refused(call, at, call.how)
  elseif call.how == 'forget' then forget(at)
  elseif call.how ~= 'none' then
    -- Where calls go well elsewhere, and none here, it is this worker that fails.
    local isElsewhere = state.goodBy ~= ARGV[1] and now - state.goodMs < 5000
    if isElsewhere and state.goods - mine.goods > 5 * count then sick = true
    else refused(call, at, call.how) end
  elseif call.sentAtMs >= p.testMs then p.testMs = 0 end
end

-- A test call is lost with its worker, or by one that has nothing under way any more.
local tester = state.testBy and state.workers[state.testBy]
if state.testBy and (not tester or tester.busy == 0) then p.testMs = 0 end

local starts, busy, from = {}, others + said.busy, now + said.lead
local ring = 0
if rate then ring = min(256, math.ceil(fixed.count)) end
for _ = 1, said.want do
  local at = nextStart(from, busy)
  if rate then
    local gap = fixed.perMs / fixed.count
    local oldest = fixed.starts[fixed.at + 1] or -1e15
    at = max(at, fixed.last + gap, oldest + ring * gap)
    if at > from + said.span then break end
    fixed.last = max(fixed.last + gap, at - gap)
    fixed.starts[fixed.at + 1] = at
    fixed.at = (fixed.at + 1) % ring
  end
  if at > from + said.span then break end
  start(at)
  if p.state == 'testing' then state.testBy = ARGV[1] end
  starts[#starts + 1] = at
  busy = busy + 1
end
if state.workers[ARGV[1]] then state.workers[ARGV[1]].busy = said.busy + #starts end
state.nowMs, state.aheadMs = now, ahead
redis.call('SET', KEYS[1], cjson.encode(state), 'PX', 2592000000)
return cjson.encode({ now = now, starts = starts, pace = p, sick = sick })
`;
