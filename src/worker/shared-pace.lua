-- Generated from pace.ts, climb.ts, pace-starts.ts, ../calls/rate.ts, rate.ts, shared-pace.ts, pace-in-redis.ts by npm run make:lua.
-- sha256 of these: e356fa6cf8a4f3e5c79d2e6d0c6499d83ccbba47cc5edafb5bac17810f87bc41
local require
local ____modules = {}
local ____moduleCache = {}
local ____originalRequire = require
local function require(file, ...)
    if ____moduleCache[file] then
        return ____moduleCache[file].value
    end
    if ____modules[file] then
        local module = ____modules[file]
        local value = nil
        if (select("#", ...) > 0) then value = module(...) else value = module(file) end
        ____moduleCache[file] = { value = value }
        return value
    else
        if ____originalRequire then
            return ____originalRequire(file)
        else
            error("module '" .. file .. "' not found")
        end
    end
end
____modules = {
["lualib_bundle"] = function(...) 
local function __TS__ObjectAssign(target, ...)
    local sources = {...}
    for i = 1, #sources do
        local source = sources[i]
        if type(source) == "table" then
            for key in pairs(source) do
                target[key] = source[key]
            end
        end
    end
    return target
end

local function __TS__ArrayIsArray(value)
    return type(value) == "table" and (value[1] ~= nil or next(value) == nil)
end

local function __TS__ArrayConcat(self, ...)
    local items = {...}
    local result = {}
    local len = 0
    for i = 1, #self do
        len = len + 1
        result[len] = self[i]
    end
    for i = 1, #items do
        local item = items[i]
        if __TS__ArrayIsArray(item) then
            for j = 1, #item do
                len = len + 1
                result[len] = item[j]
            end
        else
            len = len + 1
            result[len] = item
        end
    end
    return result
end

local function __TS__ArraySome(self, callbackfn, thisArg)
    for i = 1, #self do
        if callbackfn(thisArg, self[i], i - 1, self) then
            return true
        end
    end
    return false
end

local function __TS__ArrayFind(self, predicate, thisArg)
    for i = 1, #self do
        local elem = self[i]
        if predicate(thisArg, elem, i - 1, self) then
            return elem
        end
    end
    return nil
end

return {
  __TS__ObjectAssign = __TS__ObjectAssign,
  __TS__ArrayConcat = __TS__ArrayConcat,
  __TS__ArraySome = __TS__ArraySome,
  __TS__ArrayFind = __TS__ArrayFind
}
 end,
["calls.rate"] = function(...) 
local ____exports = {}
function ____exports.slower(one, other)
    if not one or not other then
        return one or other
    end
    return one.count / one.perMs < other.count / other.perMs and one or other
end
____exports.LONGEST_STATED_MS = 31536000000
function ____exports.isCapped(waitMs)
    return waitMs >= ____exports.LONGEST_STATED_MS
end
return ____exports
 end,
["worker.climb"] = function(...) 
local ____exports = {}
function ____exports.resume(pace, nowMs)
    if pace.climbToPerMs == 0 then
        return
    end
    pace.ratePerMs = pace.climbToPerMs
    pace.climbToPerMs = 0
    pace.isDoubted = false
    pace.nextMs = math.min(pace.nextMs, nowMs)
    pace.windowMs = nowMs
    pace.accepted = 0
    pace.epochMs = nowMs
    pace.epochAccepted = 0
end
____exports.SLOWEST_PER_MS = 1 / 3600000
____exports.FASTEST_PER_MS = 1000
____exports.SLOWEST_CLIMB_PER_MS = 1 / 1000
____exports.CLIMB_CALLS = 6
function ____exports.slow(pace, ratePerMs, nowMs)
    if pace.state ~= "flowing" then
        return
    end
    pace.climbToPerMs = math.max(pace.climbToPerMs, pace.ratePerMs)
    pace.climbLeft = 0
    pace.ratePerMs = math.max(____exports.SLOWEST_PER_MS, ratePerMs)
    pace.nextMs = nowMs
end
function ____exports.climb(pace, toPerMs, nowMs)
    if toPerMs > ____exports.FASTEST_PER_MS then
        pace.isDoubted = true
    end
    pace.climbToPerMs = math.min(
        ____exports.FASTEST_PER_MS,
        math.max(pace.climbToPerMs, toPerMs)
    )
    if toPerMs > 0 then
        pace.ratePerMs = math.max(pace.ratePerMs, ____exports.SLOWEST_CLIMB_PER_MS)
    end
    pace.climbLeft = ____exports.CLIMB_CALLS
    pace.climbMs = nowMs
end
function ____exports.climbOn(pace, sentAtMs, nowMs)
    if pace.climbLeft == 0 or sentAtMs < pace.climbMs then
        return
    end
    pace.climbLeft = pace.climbLeft - 1
    if pace.climbLeft > 0 then
        return
    end
    local next = math.max(
        pace.ratePerMs,
        math.min(2 * pace.ratePerMs, 3 * pace.flowPerMs)
    )
    pace.climbToPerMs = next > pace.ratePerMs and pace.climbToPerMs or next
    pace.ratePerMs = math.min(pace.climbToPerMs, next)
    pace.climbLeft = ____exports.CLIMB_CALLS
    pace.climbMs = nowMs
    pace.healthyMs = nowMs
    if pace.ratePerMs >= pace.climbToPerMs then
        ____exports.resume(pace, nowMs)
    end
end
return ____exports
 end,
["worker.pace"] = function(...) 
local ____lualib = require("lualib_bundle")
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local ____exports = {}
local servedBeside, learnServed, isOld, publish, widen, beginRound, rise, endClimb, isOfCap, reopen, estimate, narrow, learn, FIRST_WINDOW, LEAST_ROUND_MS, FEW_UNDER_WAY, SLACK_MS, LEAST_RISE_MS, MOST_AHEAD, MOST_MARGIN, LEAST_MARGIN, FEW_CALLS, UNSURE_CALLS, SURE_CALLS, MOST_CALLS, MOST_WINDOW_CALLS, FIRST_PAUSE_MS, CLIMB_FROM, AT_ONCE_PER_MS, HEALTHY_MS, MOST_PATIENCE_MS, SHORT_MS, ROUNDED_MS, PENALTY_MS, PENALTY_MOMENTS, TRIAL_CALLS, FAR, SERVED
local ____climb_2Ets = require("worker.climb")
local CLIMB_CALLS = ____climb_2Ets.CLIMB_CALLS
local climb = ____climb_2Ets.climb
local climbOn = ____climb_2Ets.climbOn
local FASTEST_PER_MS = ____climb_2Ets.FASTEST_PER_MS
local SLOWEST_CLIMB_PER_MS = ____climb_2Ets.SLOWEST_CLIMB_PER_MS
local SLOWEST_PER_MS = ____climb_2Ets.SLOWEST_PER_MS
function servedBeside(pace, undo, nowMs)
    undo.served = undo.served + 1
    if undo.served < SERVED * (undo.refused + 1) then
        if pace.state == "flowing" then
            learnServed(pace, undo)
        end
        return
    end
    __TS__ObjectAssign(pace, undo.before)
    pace.undo = nil
    pace.state = "flowing"
    pace.isStated = false
    pace.isAway = false
    pace.testMs = 0
    pace.cutMs = undo.sentMs
    pace.shutUntilMs = math.min(pace.shutUntilMs, nowMs)
    pace.nextMs = math.min(pace.nextMs, nowMs)
end
function learnServed(pace, ____bindingPattern0)
    local refused
    local served
    local ratePerMs
    ratePerMs = ____bindingPattern0.ratePerMs
    served = ____bindingPattern0.served
    refused = ____bindingPattern0.refused
    local all = served + refused
    local leastPerMs = ratePerMs * served / (all + 1)
    if pace.phase ~= "cruising" or all < SERVED or leastPerMs < pace.limitPerMs then
        return
    end
    learn(pace, leastPerMs, MOST_MARGIN, UNSURE_CALLS)
end
function isOld(____bindingPattern0, sentAtMs)
    local testMs
    local cutMs
    local state
    state = ____bindingPattern0.state
    cutMs = ____bindingPattern0.cutMs
    testMs = ____bindingPattern0.testMs
    return sentAtMs <= cutMs or state == "testing" and (testMs == 0 or sentAtMs < testMs - 20)
end
function publish(pace, quota, nowMs)
    local limitPerMs = quota.count / quota.perMs
    local isNews = pace.phase == "published" and math.abs(limitPerMs / pace.limitPerMs - 1) > 0.001
    if pace.phase ~= "starting" and pace.phase ~= "given" and not isNews then
        return
    end
    pace.phase = "published"
    pace.limitPerMs = limitPerMs
    pace.ratePerMs = pace.limitPerMs * 0.995
    pace.nextMs = nowMs
end
function widen(pace, sentAtMs, nowMs)
    local ____pace_7 = pace
    local window = ____pace_7.window
    local windowMs = ____pace_7.windowMs
    local latencyMs = ____pace_7.latencyMs
    if sentAtMs < windowMs then
        return
    end
    pace.windowLeft = pace.windowLeft - 1
    if pace.windowLeft > 0 or nowMs - windowMs < LEAST_ROUND_MS then
        return
    end
    if window <= FEW_UNDER_WAY then
        pace.fewLatencyMs = latencyMs
    end
    local isHolding = latencyMs < 2 * pace.fewLatencyMs + SLACK_MS
    beginRound(
        pace,
        isHolding and math.min(
            window + math.max(8, window / 3),
            1024
        ) or window,
        nowMs
    )
end
function beginRound(pace, window, nowMs)
    pace.window = window
    pace.ratePerMs = window / math.max(LEAST_ROUND_MS, pace.latencyMs)
    pace.windowLeft = window / 4
    pace.windowMs = nowMs
end
function rise(pace, nowMs)
    local ____pace_8 = pace
    local limitPerMs = ____pace_8.limitPerMs
    local margin = ____pace_8.margin
    local riseCalls = ____pace_8.riseCalls
    local ratePerMs = ____pace_8.ratePerMs
    local latencyMs = ____pace_8.latencyMs
    local deadMs = ____pace_8.deadMs
    local isStated = ____pace_8.isStated
    if nowMs - pace.healthyMs > pace.patienceMs and pace.accepted > CLIMB_CALLS then
        return climb(pace, FASTEST_PER_MS, nowMs)
    end
    local isSure = riseCalls > UNSURE_CALLS
    local isDear = isStated and deadMs > 0 or deadMs > PENALTY_MS
    local calls = math.max(
        isSure and riseCalls or math.max(
            10,
            math.min(riseCalls, ratePerMs * 10000)
        ),
        (isSure and 10 or 1.5) * ratePerMs * latencyMs,
        isDear and isSure and 10 * deadMs * ratePerMs or 0
    )
    local span = math.max(calls, pace.accepted > calls and pace.windowCalls or 0)
    local share = ((pace.accepted - calls) / span) ^ 3
    local isCareful = isDear or riseCalls > SURE_CALLS
    local target = limitPerMs * (1 + margin * (isCareful and share or math.max(1, share)))
    local speed = isSure and 0.05 or 0.25
    local soon = ratePerMs * math.max(latencyMs, LEAST_RISE_MS)
    local most = ratePerMs * (1 + speed / math.max(1, soon))
    local used = pace.flowPerMs * MOST_AHEAD
    pace.ratePerMs = math.min(
        FASTEST_PER_MS,
        math.max(
            ratePerMs,
            math.min(target, most, used)
        )
    )
    if not isSure or pace.accepted < calls + 2 * span then
        return
    end
    pace.limitPerMs = pace.ratePerMs
    pace.margin = MOST_MARGIN
    pace.riseCalls = UNSURE_CALLS
    pace.accepted = 2 * UNSURE_CALLS
end
function endClimb(pace, nowMs, statedMs)
    local ____pace_14 = pace
    local ratePerMs = ____pace_14.ratePerMs
    local limitPerMs = ____pace_14.limitPerMs
    local margin = ____pace_14.margin
    local riseCalls = ____pace_14.riseCalls
    local isAsBefore = pace.phase == "cruising" and ratePerMs >= limitPerMs and ratePerMs < 2.1 * limitPerMs
    pace.phase = "cruising"
    pace.climbToPerMs = 0
    pace.isDoubted = false
    if isAsBefore then
        pace.patienceMs = math.min(
            math.max(HEALTHY_MS, 2 * pace.patienceMs),
            MOST_PATIENCE_MS
        )
        learn(pace, limitPerMs, margin, riseCalls)
    else
        pace.patienceMs = HEALTHY_MS
        learn(pace, ratePerMs * 0.7, MOST_MARGIN, UNSURE_CALLS)
    end
    pace.state = "slower"
    pace.accepted = 0
    pace.epochAccepted = 0
    pace.epochMs = nowMs
    local pauseMs = math.min(pace.latencyMs, 2 / pace.ratePerMs)
    pace.shutUntilMs = nowMs + (statedMs > 0 and statedMs or pauseMs)
    pace.nextMs = pace.shutUntilMs
end
function isOfCap(pace, inFlight)
    local ____pace_15 = pace
    local cap = ____pace_15.cap
    local atCap = ____pace_15.atCap
    local flown = ____pace_15.flown
    local flownVariance = ____pace_15.flownVariance
    local far = (inFlight - flown) / math.sqrt(math.max(1, flownVariance))
    pace.crowded = far > FAR and pace.accepted >= FEW_CALLS and pace.crowded + 1 or 0
    return pace.crowded > 1 or cap > 0 and inFlight >= cap and atCap < TRIAL_CALLS
end
function reopen(pace, sentAtMs, nowMs)
    if pace.state == "testing" and pace.isFailing then
        pace.climbToPerMs = math.max(pace.climbToPerMs, pace.ratePerMs)
        local least = math.max(pace.climbToPerMs * CLIMB_FROM, AT_ONCE_PER_MS)
        pace.ratePerMs = math.min(pace.climbToPerMs, least)
        climb(pace, 0, nowMs)
        pace.nextMs = nowMs
    elseif pace.state == "testing" then
        estimate(
            pace,
            nowMs,
            math.max(0, sentAtMs - pace.refusedMs)
        )
        pace.nextMs = math.max(nowMs, sentAtMs + 1 / pace.ratePerMs)
    end
    local isShort = nowMs - pace.refusedMs <= 2 * (pace.latencyMs + FIRST_PAUSE_MS)
    if not isShort then
        pace.undo = nil
    elseif pace.undo then
        learnServed(pace, pace.undo)
    end
    pace.state = "flowing"
    pace.isAway = false
    pace.lastAccepted = math.max(pace.epochAccepted, pace.lastAccepted / 8)
    pace.epochMs = nowMs
    pace.epochAccepted = 0
end
function estimate(pace, nowMs, deadMs)
    local ____pace_16 = pace
    local phase = ____pace_16.phase
    local isStated = ____pace_16.isStated
    local count = ____pace_16.epochAccepted
    local last = ____pace_16.lastAccepted
    local latencyMs = ____pace_16.latencyMs
    local ratePerMs = ____pace_16.ratePerMs
    local lastedMs = math.max(1, nowMs - pace.epochMs)
    local activeMs = math.max(1, lastedMs - deadMs)
    local most = math.max(1, 0.1 * last * deadMs / lastedMs)
    local isAlike = deadMs > 0 and count >= 3 and math.abs(count - last) <= most
    local leastGapMs = isStated and SHORT_MS or 0.2 * lastedMs + 3 * latencyMs
    local isPenalty = not isAlike and not isStated and deadMs > math.max(PENALTY_MS, PENALTY_MOMENTS * activeMs)
    local isWindow = isAlike or not isStated and not isPenalty and deadMs > leastGapMs
    if deadMs > 0 then
        pace.deadMs = isStated and isWindow and 0 or math.max(deadMs, isStated and 0 or pace.deadMs / 2)
    end
    if phase == "published" or phase == "given" then
        pace.ratePerMs = pace.ratePerMs * 0.98
        if pace.ratePerMs < pace.limitPerMs * 0.85 then
            pace.phase = "cruising"
        end
    elseif phase == "starting" and count <= 1 then
        beginRound(pace, FIRST_WINDOW, nowMs)
    elseif isPenalty and count >= 3 then
        pace.phase = "cruising"
        local part = activeMs < SHORT_MS and 0.5 or 0.9
        learn(
            pace,
            part * math.min(ratePerMs, count / activeMs),
            0.02,
            SURE_CALLS
        )
    elseif phase == "starting" and not isWindow then
        pace.phase = "cruising"
        local fast = math.min(count / activeMs, ratePerMs / 3)
        learn(
            pace,
            math.sqrt(count / lastedMs * fast),
            MOST_MARGIN,
            UNSURE_CALLS
        )
    elseif phase == "cruising" and count < FEW_CALLS and not isAlike then
        local slower = ratePerMs * math.max(0.75, last / (last + FEW_CALLS), count / (count + 1))
        if last >= FEW_CALLS then
            pace.ratePerMs = slower
        else
            learn(pace, slower, 0.02, UNSURE_CALLS)
        end
    elseif isWindow then
        pace.phase = "cruising"
        pace.windowCalls = math.min(count, MOST_WINDOW_CALLS)
        local lateMs = math.min(isStated and ROUNDED_MS or deadMs / 4, lastedMs / 2)
        narrow(pace, count / lastedMs, count / (lastedMs - lateMs), count)
    elseif deadMs > leastGapMs then
        narrow(
            pace,
            count / lastedMs,
            math.min(ratePerMs, count / activeMs),
            count
        )
    else
        local top = ratePerMs * (lastedMs < SHORT_MS + latencyMs and 0.95 or 1)
        local mean = math.min(top, count / activeMs)
        local ahead = pace.riseCalls > UNSURE_CALLS and 1.1 or 1.3
        narrow(
            pace,
            mean,
            math.min(top, mean * ahead),
            0
        )
    end
end
function narrow(pace, low, high, count)
    local ____pace_17 = pace
    local limitPerMs = ____pace_17.limitPerMs
    local margin = ____pace_17.margin
    local riseCalls = ____pace_17.riseCalls
    local from = math.max(low, limitPerMs * (1 - margin))
    local to = math.min(high, limitPerMs * (1 + margin))
    local isAgreed = from <= to * 1.02
    local least = isAgreed and math.min(from, to) or low
    local most = isAgreed and math.max(from, to) or high
    local middle = math.sqrt(least * most)
    local isNear = math.abs(middle / limitPerMs - 1) < 0.06
    local calls = isAgreed and 2 * riseCalls or (isNear and SURE_CALLS or UNSURE_CALLS)
    local half = (most - least) / 2 / middle
    local share = math.min(
        MOST_MARGIN,
        math.max(LEAST_MARGIN, half)
    )
    learn(
        pace,
        middle,
        share,
        math.max(
            calls,
            math.min(count, SURE_CALLS)
        )
    )
end
function learn(pace, limitPerMs, margin, riseCalls)
    pace.limitPerMs = math.max(SLOWEST_PER_MS, limitPerMs)
    pace.margin = margin
    pace.riseCalls = math.min(riseCalls, MOST_CALLS)
    pace.ratePerMs = pace.limitPerMs * (1 - margin)
end
local LONG_AGO_MS = -1000000000000000
FIRST_WINDOW = 4
LEAST_ROUND_MS = 40
FEW_UNDER_WAY = 16
SLACK_MS = 100
LEAST_RISE_MS = 400
MOST_AHEAD = 1.5
MOST_MARGIN = 0.15
LEAST_MARGIN = 0.01
FEW_CALLS = 15
UNSURE_CALLS = 40
SURE_CALLS = 80
MOST_CALLS = 160
MOST_WINDOW_CALLS = 320
FIRST_PAUSE_MS = 50
local FIRST_AWAY_MS = 1000
CLIMB_FROM = 1 / 8
AT_ONCE_PER_MS = 20 / 1000
HEALTHY_MS = 60000
local AT_START_MS = 10000
MOST_PATIENCE_MS = 240000
local LONGEST_PAUSE_MS = 60000
local DEAD_PARTS = 16
local LONGEST_STATED_MS = 3600000
SHORT_MS = 3000
ROUNDED_MS = 1000
PENALTY_MS = 30000
PENALTY_MOMENTS = 10
local OUTAGE_MS = 5000
local CAP_CALLS = 300
TRIAL_CALLS = 50
FAR = 1.3
SERVED = 8
local KEPT_ELSEWHERE = 1.05
local function phaseOf(____bindingPattern0)
    local limitPerMs
    local isPublished
    isPublished = ____bindingPattern0.isPublished
    limitPerMs = ____bindingPattern0.limitPerMs
    if limitPerMs == 0 then
        return "starting"
    end
    return isPublished and "published" or "cruising"
end
function ____exports.createPace(nowMs, known)
    local ____known_0 = known
    local limitPerMs = ____known_0.limitPerMs
    local cap = ____known_0.cap
    local windowCalls = ____known_0.windowCalls
    if windowCalls == nil then
        windowCalls = 0
    end
    local isKnown = limitPerMs > 0
    local isUnsure = isKnown and known.isUnsure == true
    return {
        phase = phaseOf(known),
        state = "flowing",
        ratePerMs = isKnown and math.max(limitPerMs * 0.98, isUnsure and SLOWEST_CLIMB_PER_MS or 0) or FIRST_WINDOW / LEAST_ROUND_MS,
        limitPerMs = limitPerMs,
        margin = 0.02,
        riseCalls = isKnown and SURE_CALLS or UNSURE_CALLS,
        accepted = 0,
        epochMs = nowMs,
        epochAccepted = 0,
        lastAccepted = 0,
        cap = cap,
        atCap = 0,
        flown = 0,
        flownVariance = 0,
        crowded = 0,
        window = FIRST_WINDOW,
        windowLeft = FIRST_WINDOW,
        windowMs = nowMs,
        latencyMs = 0,
        fewLatencyMs = 0,
        flowPerMs = 0,
        shutUntilMs = 0,
        isStated = false,
        testMs = 0,
        isAway = false,
        isFailing = false,
        climbToPerMs = isUnsure and FASTEST_PER_MS or 0,
        climbLeft = isUnsure and CLIMB_CALLS or 0,
        climbMs = nowMs,
        isDoubted = false,
        refusals = 0,
        healthyMs = nowMs,
        patienceMs = isKnown and AT_START_MS * (windowCalls > 0 and 3 or 1) or HEALTHY_MS,
        refusedMs = 0,
        cutMs = LONG_AGO_MS,
        deadMs = 0,
        windowCalls = windowCalls,
        undo = nil,
        nextMs = nowMs,
        lastMs = LONG_AGO_MS
    }
end
local function createUndo(pace, sentMs)
    local ____pace_1 = pace
    local phase = ____pace_1.phase
    local ratePerMs = ____pace_1.ratePerMs
    local limitPerMs = ____pace_1.limitPerMs
    local margin = ____pace_1.margin
    local riseCalls = ____pace_1.riseCalls
    local ____pace_2 = pace
    local windowCalls = ____pace_2.windowCalls
    local deadMs = ____pace_2.deadMs
    local climbToPerMs = ____pace_2.climbToPerMs
    local isDoubted = ____pace_2.isDoubted
    local learned = {
        phase = phase,
        ratePerMs = ratePerMs,
        limitPerMs = limitPerMs,
        margin = margin,
        riseCalls = riseCalls,
        windowCalls = windowCalls
    }
    local before = __TS__ObjectAssign({}, learned, {deadMs = deadMs, climbToPerMs = climbToPerMs, isDoubted = isDoubted})
    return {
        before = before,
        ratePerMs = ratePerMs,
        sentMs = sentMs,
        served = 0,
        refused = 0
    }
end
function ____exports.isLimitUnsure(____bindingPattern0)
    local windowCalls
    local riseCalls
    local phase
    phase = ____bindingPattern0.phase
    riseCalls = ____bindingPattern0.riseCalls
    windowCalls = ____bindingPattern0.windowCalls
    return phase == "cruising" and riseCalls <= UNSURE_CALLS and windowCalls < FEW_CALLS
end
function ____exports.accepted(pace, call, nowMs)
    local ____call_3 = call
    local sentAtMs = ____call_3.sentAtMs
    local latencyMs = ____call_3.latencyMs
    local inFlight = ____call_3.inFlight
    local limits = ____call_3.limits
    if latencyMs > 0 then
        pace.latencyMs = pace.latencyMs + (latencyMs - pace.latencyMs) * (pace.latencyMs == 0 and 1 or 0.1)
    end
    pace.epochAccepted = pace.epochAccepted + 1
    if limits and limits.quota then
        publish(pace, limits.quota, nowMs)
    end
    local ____pace_6 = pace
    local undo = ____pace_6.undo
    local cutMs = ____pace_6.cutMs
    if undo and sentAtMs > undo.sentMs and sentAtMs <= cutMs then
        servedBeside(pace, undo, nowMs)
    end
    if isOld(pace, sentAtMs) then
        return
    end
    if pace.state ~= "flowing" then
        reopen(pace, sentAtMs, nowMs)
    end
    pace.accepted = pace.accepted + 1
    local off = inFlight - pace.flown
    pace.flown = pace.flown + off * 0.05
    pace.flownVariance = pace.flownVariance + (off * off - pace.flownVariance) * 0.05
    if pace.climbToPerMs > 0 then
        climbOn(pace, sentAtMs, nowMs)
    elseif pace.phase == "starting" then
        widen(pace, sentAtMs, nowMs)
    elseif pace.phase == "cruising" then
        rise(pace, nowMs)
    end
    if pace.cap == 0 or inFlight < pace.cap then
        return
    end
    pace.atCap = pace.atCap + 1
    if pace.atCap < CAP_CALLS then
        return
    end
    pace.cap = pace.cap + 1
    pace.atCap = 0
end
function ____exports.ended(pace, sentAtMs)
    if sentAtMs >= pace.testMs then
        pace.testMs = 0
    end
end
function ____exports.give(pace, givenPerMs)
    if pace.phase ~= "given" and pace.limitPerMs > givenPerMs then
        return
    end
    pace.phase = "given"
    pace.limitPerMs = givenPerMs * KEPT_ELSEWHERE
    pace.ratePerMs = pace.limitPerMs
    pace.windowCalls = 0
    pace.climbToPerMs = 0
end
function ____exports.refused(pace, call, nowMs, how)
    if how == nil then
        how = "refused"
    end
    local ____call_9 = call
    local limits = ____call_9.limits
    local retryAfterMs = ____call_9.retryAfterMs
    if retryAfterMs == nil then
        retryAfterMs = 0
    end
    local inFlight = ____call_9.inFlight
    local sentAtMs = ____call_9.sentAtMs
    local resetMs = (limits and limits.remaining) == 0 and (limits.resetMs or 0) or 0
    local statedMs = math.min(
        math.max(retryAfterMs, resetMs),
        LONGEST_STATED_MS
    )
    if isOld(pace, sentAtMs) then
        if pace.undo then
            local ____pace_undo_12, ____refused_13 = pace.undo, "refused"
            ____pace_undo_12[____refused_13] = ____pace_undo_12[____refused_13] + 1
        end
        if statedMs > 0 and pace.isStated then
            pace.shutUntilMs = math.max(pace.shutUntilMs, nowMs + statedMs)
        end
        return
    end
    local isAgain = pace.state ~= "flowing"
    if not isAgain then
        local isSure = pace.phase == "cruising" and pace.riseCalls > UNSURE_CALLS
        local mayBeChance = not isSure and pace.phase == "cruising" or pace.phase == "starting"
        pace.undo = mayBeChance and createUndo(pace, sentAtMs) or nil
        pace.refusedMs = nowMs
        if how == "refused" then
            pace.refusals = pace.refusals + 1
        end
    end
    local lastedMs = nowMs - pace.refusedMs
    pace.cutMs = nowMs
    pace.healthyMs = nowMs
    pace.isFailing = how ~= "refused"
    pace.isAway = how == "away" or how == "failing" and lastedMs > OUTAGE_MS
    pace.isStated = statedMs > 0
    local isLearning = pace.phase ~= "starting"
    local isNew = not isAgain and not pace.isFailing and isLearning
    if not isAgain and not pace.isFailing and pace.climbToPerMs > 0 then
        return endClimb(pace, nowMs, statedMs)
    end
    local isCrowd = isNew and isOfCap(pace, inFlight)
    local isKnown = isNew and pace.accepted >= 3
    pace.accepted = 0
    if isCrowd then
        pace.cap = math.max(1, inFlight - 1)
        pace.atCap = TRIAL_CALLS
        pace.shutUntilMs = nowMs + statedMs
    elseif statedMs == 0 and isKnown then
        pace.state = "slower"
        estimate(pace, nowMs, 0)
        pace.shutUntilMs = nowMs + math.min(pace.latencyMs, 2 / pace.ratePerMs)
        pace.nextMs = pace.shutUntilMs
    else
        local leastMs = pace.isAway and FIRST_AWAY_MS or math.max(FIRST_PAUSE_MS, pace.deadMs / DEAD_PARTS)
        local pauseMs = math.min(
            LONGEST_PAUSE_MS,
            math.max(leastMs, lastedMs / 3)
        )
        pace.shutUntilMs = nowMs + (statedMs > 0 and statedMs or pauseMs)
        pace.state = "testing"
        pace.testMs = 0
    end
end
return ____exports
 end,
["worker.pace-starts"] = function(...) 
local ____exports = {}
local slotMs, skipUnwanted, UNWANTED_MS, UNWANTED_LATENCIES, TIMER_MS, CATCH_UP_MS, CATCH_UP_FACTOR
function slotMs(____bindingPattern0, nowMs)
    local ratePerMs
    local lastMs
    local nextMs
    nextMs = ____bindingPattern0.nextMs
    lastMs = ____bindingPattern0.lastMs
    ratePerMs = ____bindingPattern0.ratePerMs
    local gapMs = 1 / ratePerMs
    if gapMs < TIMER_MS then
        return math.max(nextMs, nowMs - CATCH_UP_MS) - TIMER_MS
    end
    local dueMs = math.max(
        math.min(nextMs, lastMs + gapMs + CATCH_UP_MS),
        nowMs - CATCH_UP_MS
    )
    return math.max(dueMs, lastMs + gapMs / CATCH_UP_FACTOR)
end
function skipUnwanted(pace, atMs)
    local dueMs = math.max(pace.lastMs, pace.shutUntilMs, pace.nextMs, pace.epochMs)
    local lateMs = atMs - dueMs
    if lateMs < math.max(UNWANTED_MS, UNWANTED_LATENCIES * pace.latencyMs) then
        return
    end
    pace.epochMs = pace.epochMs + lateMs
    pace.healthyMs = pace.healthyMs + lateMs
    if pace.state ~= "flowing" then
        pace.refusedMs = pace.refusedMs + lateMs
    end
end
local LOST_MS = 300000
UNWANTED_MS = 2000
UNWANTED_LATENCIES = 4
local FLOW_MS = 500
local MOST_UNDER_WAY = 1000000
TIMER_MS = 5
CATCH_UP_MS = 20
CATCH_UP_FACTOR = 1.5
function ____exports.nextStartMs(pace, nowMs, inFlight)
    local ____pace_0 = pace
    local phase = ____pace_0.phase
    local state = ____pace_0.state
    local cap = ____pace_0.cap
    local window = ____pace_0.window
    local testMs = ____pace_0.testMs
    local shutUntilMs = ____pace_0.shutUntilMs
    local most = math.min(cap > 0 and cap or MOST_UNDER_WAY, phase == "starting" and window or MOST_UNDER_WAY)
    local ____temp_1
    if state == "testing" then
        ____temp_1 = testMs > 0 and nowMs - testMs < LOST_MS
    else
        ____temp_1 = inFlight >= most
    end
    local isFull = ____temp_1
    if isFull then
        return math.huge
    end
    return math.max(
        nowMs,
        shutUntilMs,
        state == "testing" and 0 or slotMs(pace, nowMs)
    )
end
function ____exports.start(pace, atMs)
    skipUnwanted(pace, atMs)
    if pace.state == "testing" then
        pace.testMs = atMs
    end
    local gapMs = 1 / pace.ratePerMs
    pace.nextMs = math.max(
        pace.nextMs,
        atMs - math.min(gapMs, CATCH_UP_MS)
    ) + gapMs
    local spanMs = math.max(FLOW_MS, 10 * gapMs)
    local sinceMs = math.max(
        0,
        atMs - math.max(pace.lastMs, pace.shutUntilMs)
    )
    pace.flowPerMs = pace.flowPerMs * math.exp(-sinceMs / spanMs) + 1 / spanMs
    pace.lastMs = math.max(pace.lastMs, atMs)
end
return ____exports
 end,
["worker.rate"] = function(...) 
local ____exports = {}
local countedWindow, LATE_MS
function ____exports.bookFixed(fixed, atMs)
    local gapMs = fixed.rate.perMs / fixed.rate.count
    local slotMs = fixed.lastSlotMs + gapMs
    local isLate = atMs - slotMs < math.max(gapMs, LATE_MS)
    fixed.lastSlotMs = isLate and slotMs or atMs
    fixed.recentStartsMs[fixed.oldestStart + 1] = atMs
    fixed.oldestStart = (fixed.oldestStart + 1) % countedWindow(fixed.rate).starts
end
function countedWindow(____bindingPattern0)
    local perMs
    local count
    count = ____bindingPattern0.count
    perMs = ____bindingPattern0.perMs
    if count <= ____exports.MOST_STARTS then
        local starts = math.ceil(count)
        return {starts = starts, perMs = starts * perMs / count}
    end
    local parts = math.ceil(count / ____exports.MOST_STARTS)
    return {
        starts = math.floor(count / parts),
        perMs = perMs / parts
    }
end
____exports.MOST_STARTS = 256
LATE_MS = 20
local LONG_AGO_MS = -1000000000000000
function ____exports.createFixedRate(rate, startsMs)
    if startsMs == nil then
        startsMs = {}
    end
    local fixed = {rate = rate, lastSlotMs = LONG_AGO_MS, recentStartsMs = {}, oldestStart = 0}
    for ____, startMs in ipairs(startsMs) do
        ____exports.bookFixed(fixed, startMs)
    end
    return fixed
end
function ____exports.nextFixedStartMs(fixed)
    local ____fixed_0 = fixed
    local rate = ____fixed_0.rate
    local lastSlotMs = ____fixed_0.lastSlotMs
    local recentStartsMs = ____fixed_0.recentStartsMs
    local oldestStart = ____fixed_0.oldestStart
    local oldestMs = recentStartsMs[oldestStart + 1] or LONG_AGO_MS
    return math.max(
        lastSlotMs + rate.perMs / rate.count,
        oldestMs + countedWindow(rate).perMs
    )
end
return ____exports
 end,
["worker.shared-pace"] = function(...) 
local ____lualib = require("lualib_bundle")
local __TS__ObjectAssign = ____lualib.__TS__ObjectAssign
local __TS__ArrayConcat = ____lualib.__TS__ArrayConcat
local __TS__ArraySome = ____lualib.__TS__ArraySome
local __TS__ArrayFind = ____lualib.__TS__ArrayFind
local ____exports = {}
local adopt, createSharedPace, passTime, takePart, createParticipant, keepRate, hear, change, hearCall, isSick, hasTested, isInTheWay, missLost, handOut, pollMs, GONE_MS, IDLE_MS, SICK_MS, WELL_MS, GIVE_WAY_MS, LEAST_POLL_MS, mayChange
local ____rate_2Ets = require("calls.rate")
local slower = ____rate_2Ets.slower
local ____climb_2Ets = require("worker.climb")
local climb = ____climb_2Ets.climb
local resume = ____climb_2Ets.resume
local slow = ____climb_2Ets.slow
local ____pace_2Ets = require("worker.pace")
local accepted = ____pace_2Ets.accepted
local createPace = ____pace_2Ets.createPace
local ended = ____pace_2Ets.ended
local give = ____pace_2Ets.give
local refused = ____pace_2Ets.refused
local ____pace_2Dstarts_2Ets = require("worker.pace-starts")
local nextStartMs = ____pace_2Dstarts_2Ets.nextStartMs
local start = ____pace_2Dstarts_2Ets.start
local ____rate_2Ets = require("worker.rate")
local bookFixed = ____rate_2Ets.bookFixed
local createFixedRate = ____rate_2Ets.createFixedRate
local nextFixedStartMs = ____rate_2Ets.nextFixedStartMs
function adopt(kept, said, clockMs)
    local pace = createSharedPace(clockMs, said)
    local nobody = {
        isHeld = false,
        workers = {},
        found = "",
        testBy = "",
        slowBy = ""
    }
    local state = __TS__ObjectAssign({pace = pace}, nobody, {nowMs = 0, aheadMs = 0})
    if not kept then
        return state
    end
    local ____kept_pace_0 = kept.pace
    local ratePerMs = ____kept_pace_0.ratePerMs
    return __TS__ObjectAssign(
        state,
        kept,
        {pace = __TS__ObjectAssign(pace, kept.pace, {ratePerMs = ratePerMs})}
    )
end
function createSharedPace(nowMs, ____bindingPattern0)
    local startRate
    startRate = ____bindingPattern0.startRate
    local limitPerMs = startRate and startRate.count / startRate.perMs or 0
    return createPace(nowMs, {limitPerMs = limitPerMs, cap = 0})
end
function passTime(state, clockMs)
    if state.nowMs - (clockMs + state.aheadMs) > 1 then
        state.aheadMs = state.nowMs - clockMs
    end
    state.nowMs = clockMs + state.aheadMs
end
function takePart(state, ____bindingPattern0)
    local want
    local busy
    local rate
    local id
    id = ____bindingPattern0.id
    rate = ____bindingPattern0.rate
    busy = ____bindingPattern0.busy
    want = ____bindingPattern0.want
    local ____state_1 = state
    local nowMs = ____state_1.nowMs
    local others = {}
    local busyElsewhere = 0
    local mine = createParticipant(id)
    for ____, worker in ipairs(state.workers) do
        if worker.id == id then
            mine = worker
        elseif nowMs - worker.seenMs <= GONE_MS then
            others[#others + 1] = worker
            busyElsewhere = busyElsewhere + worker.busy
        end
    end
    mine.rate = rate
    mine.busy = busy
    mine.waiting = want
    mine.seenMs = nowMs
    if busy > 0 or want > 0 then
        mine.activeMs = nowMs
    end
    state.workers = __TS__ArrayConcat(others, mine)
    return {state = state, mine = mine, others = others, busyElsewhere = busyElsewhere}
end
function createParticipant(id)
    local times = {seenMs = 0, activeMs = 0, goodMs = -WELL_MS, triedMs = 0}
    return __TS__ObjectAssign({id = id, isFailing = false, busy = 0, waiting = 0}, times)
end
function keepRate(state, said)
    local rate
    for ____, worker in ipairs(state.workers) do
        rate = slower(rate, worker.rate)
    end
    local ____state_2 = state
    local pace = ____state_2.pace
    local fixed = ____state_2.fixed
    state.isHeld = rate ~= nil
    if not rate then
        if pace.phase == "given" then
            state.pace = createSharedPace(state.nowMs, said)
        end
        return
    end
    local isNews = (fixed and fixed.rate.count) ~= rate.count or fixed.rate.perMs ~= rate.perMs
    if isNews or pace.phase == "starting" then
        give(pace, rate.count / rate.perMs)
    end
    if not isNews then
        return
    end
    state.fixed = createFixedRate(rate)
    if fixed then
        state.fixed.lastSlotMs = fixed.lastSlotMs
    end
end
function hear(visit, event)
    local ____visit_5 = visit
    local state = ____visit_5.state
    local ____state_6 = state
    local pace = ____state_6.pace
    local atMs = math.min(event.atMs, state.nowMs)
    if event.how == "slow" or event.how == "climb" or event.how == "resume" then
        if mayChange(visit) then
            change(visit, event, atMs)
        end
    else
        hearCall(visit, event, atMs)
    end
    if pace.climbToPerMs == 0 then
        state.slowBy = ""
    end
end
function change(____bindingPattern0, event, atMs)
    local mine
    local state
    state = ____bindingPattern0.state
    mine = ____bindingPattern0.mine
    local ____state_7 = state
    local pace = ____state_7.pace
    if event.how == "resume" then
        return resume(pace, atMs)
    end
    if event.how == "climb" then
        return climb(pace, event.ratePerMs, atMs)
    end
    slow(pace, event.ratePerMs, atMs)
    if pace.climbToPerMs > 0 then
        state.slowBy = mine.id
    end
end
function hearCall(visit, call, atMs)
    local ____visit_8 = visit
    local state = ____visit_8.state
    local mine = ____visit_8.mine
    local ____state_9 = state
    local pace = ____state_9.pace
    local ____call_10 = call
    local how = ____call_10.how
    local sentAtMs = ____call_10.sentAtMs
    call.inFlight = call.inFlight + visit.busyElsewhere
    if how == "none" then
        return ended(pace, sentAtMs)
    end
    if how == "good" then
        local wasTesting = pace.state == "testing"
        accepted(pace, call, atMs)
        if wasTesting and pace.state == "flowing" then
            for ____, worker in ipairs(state.workers) do
                worker.isFailing = false
            end
        end
        mine.isFailing = false
        mine.goodMs = state.nowMs
        return
    end
    mine.isFailing = how ~= "refused"
    if not isSick(visit) then
        state.reason = call.reason
        return refused(pace, call, atMs, how)
    end
    mine.triedMs = math.max(mine.triedMs, sentAtMs)
    ended(pace, sentAtMs)
end
function isSick(____bindingPattern0)
    local others
    local mine
    local state
    state = ____bindingPattern0.state
    mine = ____bindingPattern0.mine
    others = ____bindingPattern0.others
    if not mine.isFailing then
        return false
    end
    return __TS__ArraySome(
        others,
        function(____, ____bindingPattern0)
            local goodMs
            local waiting
            local busy
            local isFailing
            isFailing = ____bindingPattern0.isFailing
            busy = ____bindingPattern0.busy
            waiting = ____bindingPattern0.waiting
            goodMs = ____bindingPattern0.goodMs
            return not isFailing and (busy + waiting > 0 or state.nowMs - goodMs < WELL_MS)
        end
    )
end
function hasTested(____bindingPattern0)
    local others
    local mine
    local state
    state = ____bindingPattern0.state
    mine = ____bindingPattern0.mine
    others = ____bindingPattern0.others
    if state.pace.state ~= "testing" or state.testBy ~= mine.id then
        return false
    end
    return __TS__ArraySome(
        others,
        function(____, ____bindingPattern0)
            local waiting
            waiting = ____bindingPattern0.waiting
            return waiting > 0
        end
    )
end
function isInTheWay(____bindingPattern0)
    local others
    local state
    state = ____bindingPattern0.state
    others = ____bindingPattern0.others
    return __TS__ArraySome(
        others,
        function(____, ____bindingPattern0)
            local waiting
            local id
            id = ____bindingPattern0.id
            waiting = ____bindingPattern0.waiting
            return id == state.slowBy and waiting > 0
        end
    )
end
function missLost(state)
    local ____state_11 = state
    local pace = ____state_11.pace
    local workers = ____state_11.workers
    local nowMs = ____state_11.nowMs
    local tester = __TS__ArrayFind(
        workers,
        function(____, ____bindingPattern0)
            local id
            id = ____bindingPattern0.id
            return id == state.testBy
        end
    )
    if state.testBy ~= "" and (not tester or tester.busy == 0) then
        pace.testMs = 0
    end
    local slowing = __TS__ArrayFind(
        workers,
        function(____, ____bindingPattern0)
            local id
            id = ____bindingPattern0.id
            return id == state.slowBy
        end
    )
    if state.slowBy == "" or slowing and nowMs - slowing.activeMs < IDLE_MS then
        return
    end
    state.slowBy = ""
    climb(pace, 0, nowMs)
end
function handOut(visit, said)
    local ____visit_12 = visit
    local state = ____visit_12.state
    local mine = ____visit_12.mine
    local busyElsewhere = ____visit_12.busyElsewhere
    local ____state_13 = state
    local pace = ____state_13.pace
    local nowMs = ____state_13.nowMs
    local fromMs = nowMs + said.leadMs
    local untilMs = fromMs + said.spanMs
    local sick = isSick(visit)
    local ____state_isHeld_14
    if state.isHeld then
        ____state_isHeld_14 = state.fixed
    else
        ____state_isHeld_14 = nil
    end
    local fixed = ____state_isHeld_14
    local startsMs = {}
    local nextMs = fromMs
    while #startsMs < said.want do
        nextMs = nextStartMs(pace, fromMs, busyElsewhere + said.busy + #startsMs)
        if fixed then
            nextMs = math.max(
                nextMs,
                nextFixedStartMs(fixed)
            )
        end
        if sick then
            nextMs = math.max(nextMs, mine.triedMs + SICK_MS)
        end
        if hasTested(visit) then
            nextMs = math.max(nextMs, pace.shutUntilMs + GIVE_WAY_MS)
        end
        if isInTheWay(visit) then
            nextMs = math.max(nextMs, nowMs + GIVE_WAY_MS)
        end
        if nextMs > untilMs then
            break
        end
        start(pace, nextMs)
        if fixed then
            bookFixed(fixed, nextMs)
        end
        if pace.state == "testing" then
            state.testBy = mine.id
        end
        if sick then
            mine.triedMs = nextMs
        end
        startsMs[#startsMs + 1] = nextMs
    end
    mine.busy = said.busy + #startsMs
    mine.waiting = said.want - #startsMs
    local isKnown = nextMs < math.huge
    return {
        nowMs = nowMs,
        startsMs = startsMs,
        isSick = sick,
        againMs = isKnown and nextMs - said.leadMs or pollMs(state)
    }
end
function pollMs(____bindingPattern0)
    local nowMs
    local pace
    pace = ____bindingPattern0.pace
    nowMs = ____bindingPattern0.nowMs
    local testingMs = pace.state == "testing" and nowMs - pace.testMs or 0
    return nowMs + math.max(LEAST_POLL_MS, pace.latencyMs / 2, testingMs / 2)
end
function ____exports.exchange(kept, said, clockMs)
    local state = adopt(kept, said, clockMs)
    passTime(state, clockMs)
    local visit = takePart(state, said)
    if said.found ~= nil then
        state.found = said.found
    end
    keepRate(state, said)
    for ____, event in ipairs(said.events) do
        hear(visit, event)
    end
    missLost(state)
    local granted = handOut(visit, said)
    if said.isGone == true then
        state.workers = visit.others
    end
    return {state = state, granted = granted}
end
GONE_MS = 10000
IDLE_MS = 2000
SICK_MS = 5000
WELL_MS = 10000
GIVE_WAY_MS = 500
LEAST_POLL_MS = 50
mayChange = function(____bindingPattern0)
    local mine
    local slowBy
    slowBy = ____bindingPattern0.state.slowBy
    mine = ____bindingPattern0.mine
    return slowBy == "" or slowBy == mine.id
end
return ____exports
 end,
["worker.pace-in-redis"] = function(...) 
local ____exports = {}
local timeMs
local ____shared_2Dpace_2Ets = require("worker.shared-pace")
local exchange = ____shared_2Dpace_2Ets.exchange
function timeMs()
    local seconds, micros = unpack(
        redis.call("TIME"),
        1,
        2
    )
    return tonumber(seconds) * 1000 + math.floor(tonumber(micros) / 1000)
end
local KEPT_MS = 30 * 86400000
function ____exports.answer()
    local said = cjson.decode(ARGV[1])
    local kept = redis.call("GET", KEYS[1])
    local ____exchange_1 = exchange
    local ____temp_0
    if kept == false then
        ____temp_0 = nil
    else
        ____temp_0 = cjson.decode(kept)
    end
    local ____exchange_1_result_2 = ____exchange_1(
        ____temp_0,
        said,
        said.clockMs or timeMs()
    )
    local state = ____exchange_1_result_2.state
    local granted = ____exchange_1_result_2.granted
    local text = cjson.encode(state)
    redis.call(
        "SET",
        KEYS[1],
        text,
        "PX",
        tostring(KEPT_MS)
    )
    return {
        text,
        cjson.encode(granted)
    }
end
return ____exports
 end,
}
local ____entry = require("worker.pace-in-redis", ...)
return ____entry.answer()
