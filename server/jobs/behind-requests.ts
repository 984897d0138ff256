import { setImmediate as turn } from 'node:timers/promises'
import { withMeter } from '../db/meter.ts'

/**
 * Does work whose statements let others go first, each of them. SQLite runs statements on the thread that answers requests, and the dozens of a
 * job, one after another, would hold up every request for as long as they take together.
 */
export const behindRequests = <Value>(work: () => Value): Value => withMeter(patient, work)

const patient = {
  async measure<Value>(statement: () => Promise<Value>): Promise<Value> {
    await turn()
    return statement()
  },
}
