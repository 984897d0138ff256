import { setImmediate as turn } from 'node:timers/promises'
import { withMeter } from '../db/meter.ts'

/**
 * Runs `work` and yields to pending requests before each of its statements. SQLite runs statements on the event loop thread, so the dozens of
 * statements of a job would otherwise block all requests.
 */
export const yieldToRequests = <Value>(work: () => Value): Value => withMeter(patient, work)

const patient = {
  async measure<Value>(statement: () => Promise<Value>): Promise<Value> {
    await turn()
    return statement()
  },
}
