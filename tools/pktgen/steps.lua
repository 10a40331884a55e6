-- SPDX-License-Identifier: BSD-3-Clause
-- Sends what the .pkt before it describes in ten steps of its rate, 10 % ... 100 %, says after each
-- what was sent and came back in its last second, and ends Pktgen. From the environment:
--   SLUICE_STEP_MS       how long each step takes: 3000, no less than 2000
--   SLUICE_TOP_PERCENT   the last step's rate, of the link's: 100
local PORT = "0"
local STEPS = 10
local STEP_MIN_MS = 2000
local COUNTED_MS = 1500 -- Pktgen looks at its ports' counters once a second
local BUILT_MAX_MS = 30000

local function setting(name, default)
    local text = os.getenv(name) or default
    return tonumber(text) or error(name .. " is no number: " .. text)
end

local function stats(kind)
    return pktgen.portStats(PORT, kind)[tonumber(PORT)]
end

-- Pktgen builds its packets first, which takes seconds on a busy machine.
local function start()
    pktgen.start(PORT)
    for _ = COUNTED_MS, BUILT_MAX_MS, COUNTED_MS do
        pktgen.delay(COUNTED_MS)
        if stats("port").opackets > 0 then
            return
        end
    end
    error("nothing is sent: is the link up?")
end

local function steps()
    local step_ms = math.max(STEP_MIN_MS, math.floor(setting("SLUICE_STEP_MS", 3000)))
    local top_percent = setting("SLUICE_TOP_PERCENT", 100)
    pktgen.screen("off")
    pktgen.set(PORT, "rate", top_percent / STEPS)
    start()
    for number = 1, STEPS do
        pktgen.set(PORT, "rate", top_percent * number / STEPS)
        pktgen.delay(step_ms)
        local rate = stats("rate")
        print(string.format("step %g %%: sent %d/s, received %d/s", top_percent * number / STEPS,
                            rate.pkts_tx, rate.pkts_rx))
    end
    pktgen.stop(PORT)
    pktgen.delay(COUNTED_MS)
    local all = stats("port")
    print(string.format("steps: sent %d, received %d", all.opackets, all.ipackets))
end

-- Pktgen waits for a keyboard after an error, so no error may leave this script.
local done, why = pcall(steps)
if not done then
    print("steps.lua: " .. tostring(why))
    pktgen.stop(PORT)
end
pktgen.quit()
