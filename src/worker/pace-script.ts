/**
 * The pace of one credential in Redis: `pace.ts` and `rate.ts` once more, for all workers together. A test
 * holds the two to the same numbers. One call does it all: it takes what ended since the last one, and gives
 * start times for the next moment.
 *
 * KEYS: the pace. ARGV: the worker, and what it says, as JSON: `events` of calls that ended, `want`ed starts,
 * `busy` calls under way and starts held, `lead` and `span` in ms until starts are of use and for how long,
 * its `rate`, where to `start`, and `gone`. Time is that of Redis. Returns `now`, `starts`, the pace, and whether it is `sick`.
 */
export const PACE_SCRIPT = `
local INF = math.huge
local max, min = math.max, math.min
local RISE = { 40, 150, 300, 500, 700 }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local said = cjson.decode(ARGV[2])
if said.now then now = said.now end

local function create(at)
  local limit = said.start and said.start.count / said.start.perMs or 0
  local isKnown = limit > 0
  return { phase = isKnown and 'cruising' or 'starting', ratePerMs = isKnown and limit * 0.98 or 4 / 40, limitPerMs = limit,
    margin = 0.02, confidence = isKnown and 1 or 0, accepted = 0, before = 0, epochMs = at, epochAccepted = 0, estimatedFrom = 0, checkMs = 0, nextAccepted = 0, cap = 0, flown = 0,
    flownVariance = 0, crowded = 0, atCap = 0, capCalls = 100, isTrial = false, window = 4, windowLeft = 4,
    windowMs = at, windowAccepted = 0, latencyMs = 0, fewLatencyMs = 0, flowPerMs = 0, shutUntilMs = 0, isStated = false, isTesting = false,
    testMs = 0, isAway = false, gapAccepted = 0, isGuess = false, pauses = 0, refusedMs = 0, cutMs = -1e15, deadMs = 0, pauseMs = 0,
    roundMs = at, roundAccepted = 0, nextMs = at, lastMs = -1e15 }
end

local raw = redis.call('GET', KEYS[1])
local state = raw and cjson.decode(raw)
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
  if p.isTesting then
    if p.testMs > 0 and at - p.testMs < 60000 then return INF end
    return max(at, p.shutUntilMs)
  end
  local most = p.cap > 0 and p.cap or INF
  if p.phase == 'starting' then most = min(most, p.window) end
  if busy > 0 and busy >= most then return INF end
  if p.phase == 'fixed' then return max(at, p.shutUntilMs) end
  return max(at, p.shutUntilMs, slot(at))
end

local function start(at)
  if p.isTesting then p.testMs = at end
  if p.phase ~= 'fixed' then
    local gap = 1 / p.ratePerMs
    p.nextMs = max(p.nextMs, at - min(gap, 20)) + gap
  end
  local span = p.ratePerMs > 0 and max(500, 10 / p.ratePerMs) or 500
  p.flowPerMs = p.flowPerMs * math.exp(-max(0, at - max(p.lastMs, p.shutUntilMs)) / span) + 1 / span
  p.lastMs = max(p.lastMs, at)
end

local function learn(limit, margin, confidence)
  p.limitPerMs = max(1 / 3600000, limit)
  p.margin = margin
  p.confidence = min(confidence, 4)
  p.ratePerMs = max(1 / 3600000, p.limitPerMs * (1 - margin))
end

local function beginRound(at)
  p.ratePerMs = p.window / max(40, p.latencyMs)
  p.windowLeft = p.window / 4
  p.windowAccepted = 0
  p.windowMs = at
end

local function estimate(ends, dead)
  local lasted = max(1, ends - p.epochMs)
  local isGap = dead > (p.isStated and 3000 or 0.2 * lasted + 3 * p.latencyMs)
  local isAlike = math.abs(p.epochAccepted / p.gapAccepted - 1) < 0.1
  local isOutage = p.isAway and not isAlike
  local wasGuess = p.isGuess
  p.isGuess = isGap and p.isStated and not isAlike and p.gapAccepted == 0
  local isWindow = isGap and (not p.isStated or isAlike or p.isGuess)
  local to = isWindow and ends or ends - dead
  local measured = p.epochAccepted / max(1, to - p.epochMs)
  if p.isGuess then measured = min(2 * measured, p.ratePerMs) end
  local isSure = isWindow and dead > 1500 and not p.isGuess
  if isGap or p.isAway then p.gapAccepted = p.epochAccepted end
  p.isAway = false
  local recent = p.roundAccepted / max(1, to - p.roundMs)
  if p.phase == 'fixed' then
    p.deadMs = 0
  elseif isOutage then
    if p.phase == 'starting' then
      p.window = max(4, p.window / 2)
      beginRound(ends)
    else learn(max(p.ratePerMs / 2, 0.001), 0.15, 0) end
  elseif p.phase == 'published' then
    p.ratePerMs = p.ratePerMs * 0.98
    if p.ratePerMs < p.limitPerMs * 0.85 then p.phase = 'cruising' end
  elseif p.phase == 'starting' and p.epochAccepted == 0 then
    p.window = 4
    beginRound(ends)
  elseif p.phase == 'starting' then
    p.phase = 'cruising'
    learn(max(1 / max(100, dead), isWindow and measured or recent / 2), isSure and 0.04 or 0.15, isSure and 1 or 0)
  elseif p.epochAccepted < 15 then
    learn(p.ratePerMs * max(0.75, p.estimatedFrom / (p.estimatedFrom + 15), p.before / (p.before + 1)), 0.02, 0)
  else
    local isQuick = to - p.epochMs < 3000 + p.latencyMs
    local most = p.ratePerMs * (isQuick and 0.95 or 1)
    local middle = (measured + min(most, measured * (wasGuess and 2 or p.confidence > 0 and 1.1 or 1.3))) / 2
    local value = isWindow and measured or min(most, middle)
    local off = math.abs(value - p.limitPerMs) / p.limitPerMs
    local surer = 0
    if off < 0.02 then surer = p.confidence + 1
    elseif off < 0.06 or (isWindow and isAlike) then surer = max(1, min(p.confidence, 2)) end
    learn(value, isWindow and isAlike and 0.02 or min(0.15, max(0.008, off / 4)), surer)
  end
  p.estimatedFrom = p.epochAccepted
  p.epochMs = ends
  p.epochAccepted = p.nextAccepted
  p.nextAccepted = 0
  p.checkMs = 0
end

local function reopen(call, at)
  local ends = p.isStated and p.shutUntilMs or call.sentAtMs - p.pauseMs / 2
  p.deadMs = ends - p.refusedMs
  p.isTesting = false
  p.pauses = 0
  p.epochAccepted = p.epochAccepted + p.nextAccepted - 1
  p.nextAccepted = 1
  estimate(ends, p.deadMs)
  p.nextMs = p.ratePerMs > 0 and max(at, call.sentAtMs + 1 / p.ratePerMs) or at
end

local function rise()
  local isSure = p.confidence > 0
  local isDear = p.isStated and (p.confidence > 1 or (not isSure and p.deadMs > 3000 and not p.isGuess))
  local least = p.isGuess and p.gapAccepted or min(40, p.ratePerMs * 10000)
  local calls = max(isSure and RISE[p.confidence + 1] or max(10, least), (isSure and 20 or 2) * p.ratePerMs * p.latencyMs)
  if isDear then calls = max(calls, (isSure and 20 or 5) * p.deadMs * p.ratePerMs) end
  local target = p.limitPerMs * (1 + p.margin * (p.accepted / calls - 1) ^ 3)
  local most = p.ratePerMs * (1 + (isSure and 0.05 or 0.25) / max(1, p.ratePerMs * max(p.latencyMs, 400)))
  p.ratePerMs = min(1000, max(p.ratePerMs, min(target, most, p.flowPerMs * 1.5)))
end

local function widen(call, at)
  if call.sentAtMs < p.windowMs then return end
  p.windowLeft = p.windowLeft - 1
  p.windowAccepted = p.windowAccepted + 1
  if p.windowLeft > 0 or at - p.windowMs < 40 then return end
  if p.window <= 16 then p.fewLatencyMs = p.latencyMs end
  if p.latencyMs < 2 * p.fewLatencyMs + 100 then p.window = min(p.window + max(8, p.window / 3), 1024) end
  p.roundMs = p.windowMs
  p.roundAccepted = p.windowAccepted
  beginRound(at)
end

local function obey(limits, at)
  if limits.quota and p.phase == 'starting' then
    p.phase = 'published'
    p.limitPerMs = limits.quota.count / limits.quota.perMs
    p.ratePerMs = p.limitPerMs * 0.995
    p.nextMs = at
  end
end

local function accepted(call, at)
  p.latencyMs = p.latencyMs == 0 and call.latencyMs or p.latencyMs + (call.latencyMs - p.latencyMs) * 0.1
  if p.checkMs > 0 and call.sentAtMs > p.checkMs then p.nextAccepted = p.nextAccepted + 1
  else p.epochAccepted = p.epochAccepted + 1 end
  p.roundAccepted = p.roundAccepted + 1
  if call.limits then obey(call.limits, at) end
  if call.sentAtMs <= p.cutMs then return end
  if p.pauses > 0 then reopen(call, at)
  elseif p.checkMs > 0 then estimate(p.checkMs, 0) end
  p.accepted = p.accepted + 1
  local off = call.inFlight - p.flown
  p.flown = p.flown + off * 0.05
  p.flownVariance = p.flownVariance + (off * off - p.flownVariance) * 0.05
  if p.phase == 'starting' then widen(call, at) elseif p.phase == 'cruising' then rise() end
  if p.cap > 0 and call.inFlight >= p.cap then
    p.atCap = p.atCap + 1
    if p.atCap > 50 then p.isTrial = false end
    if p.atCap >= p.capCalls then
      p.cap = p.cap + 1
      p.atCap = 0
      p.isTrial = true
    end
  end
end

local function isOfCap(inFlight)
  local isTrial = p.isTrial and inFlight >= p.cap
  if isTrial then p.capCalls = min(p.capCalls * 2, 16000) end
  p.isTrial = false
  local far = (inFlight - p.flown) / math.sqrt(max(1, p.flownVariance))
  p.crowded = far > 1.3 and p.before >= 15 and p.crowded + 1 or 0
  return isTrial or p.crowded >= 2
end

local function shut(at, pause, isStated)
  p.shutUntilMs = at + pause
  p.pauseMs = pause
  p.isStated = isStated
  p.isTesting = true
  p.testMs = 0
  p.pauses = p.pauses + 1
end

local function refused(call, at, how)
  local stated = call.retryAfterMs or 0
  if call.limits and call.limits.remaining == 0 then stated = max(stated, call.limits.resetMs or 0) end
  stated = min(stated, 3600000)
  if call.sentAtMs <= p.cutMs or (p.isTesting and call.sentAtMs < p.testMs) then
    if stated > 0 and p.isStated then p.shutUntilMs = max(p.shutUntilMs, at + stated) end
    return
  end
  local isAgain = p.pauses > 0 or p.checkMs > 0
  local before = p.accepted
  if not isAgain then
    p.refusedMs = at
    p.before = before
  end
  p.cutMs = at
  p.accepted = 0
  local isAway = how == 'away' or (how == 'failing' and isAgain and at - p.refusedMs > 5000)
  local isLearning = p.phase == 'cruising' or p.phase == 'published'
  if not isAgain and not isAway and isLearning and isOfCap(call.inFlight) then
    p.cap = max(1, call.inFlight - 1)
    p.atCap = 0
    p.isStated = stated > 0
    p.shutUntilMs = at + stated
    return
  end
  p.isAway = isAway
  if stated > 0 then return shut(at, stated, true) end
  if isLearning and before >= 3 and not isAgain and not isAway then
    p.checkMs = call.sentAtMs
    p.ratePerMs = p.ratePerMs * (1 - max(p.margin, 0.02))
    p.shutUntilMs = at + min(p.latencyMs, 2 / p.ratePerMs)
    p.nextMs = p.shutUntilMs
    p.isStated = false
    return
  end
  local first = isAway and 1000 or (p.phase == 'fixed' and 500 or 50)
  local pause = max(first, (at - p.refusedMs) / 3, isAway and 0 or p.deadMs / 4)
  shut(at, min(60000, pause), false)
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
  p = create(now)
  state.pace = p
  fixed = nil
end
state.fixed = fixed

local sick = false
for _, call in ipairs(said.events) do
  local at = call.atMs
  call.inFlight = call.inFlight + others
  if call.how == 'good' then
    accepted(call, at)
    state.goodMs = max(state.goodMs, at)
    state.goodBy = ARGV[1]
    state.goods = state.goods + 1
    mine.goods = state.goods
  elseif call.how == 'refused' then refused(call, at, call.how)
  elseif call.how ~= 'none' then
    -- Where calls go well elsewhere, and none here, it is this worker that fails.
    local isElsewhere = state.goodBy ~= ARGV[1] and state.goodMs > call.sentAtMs
    if isElsewhere and state.goods - mine.goods > 5 * count then sick = true
    else refused(call, at, call.how) end
  elseif p.testMs > 0 and call.sentAtMs >= p.testMs then p.testMs = 0 end
end

-- A test call is lost with its worker, or by one that has nothing under way any more.
local tester = state.testBy and state.workers[state.testBy]
if state.testBy and (not tester or tester.busy == 0) then p.testMs = 0 end

local starts, busy, from = {}, others + said.busy, now + said.lead
local ring = 0
if fixed then ring = min(256, math.ceil(fixed.count)) end
for _ = 1, said.want do
  local at = nextStart(from, busy)
  if fixed then
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
  if p.isTesting then state.testBy = ARGV[1] end
  starts[#starts + 1] = at
  busy = busy + 1
end
if state.workers[ARGV[1]] then state.workers[ARGV[1]].busy = said.busy + #starts end
redis.call('SET', KEYS[1], cjson.encode(state), 'PX', 2592000000)
return cjson.encode({ now = now, starts = starts, pace = p, sick = sick })
`;
