import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Load } from '../support/load.ts'
import { nextMigration, nextVersion, writeNextRelease } from '../support/next-release.ts'
import { Pair } from '../support/two-instances.ts'
import { folderForTest, json, ownersToken } from '../support/server-process.ts'
import { root } from '../support/sources.ts'

const here = [process.execPath, join(root, 'server/platform/launch/snug.mjs'), 'start']
/** Folder of the unpacked previous release. If set, the test upgrades from that release. */
const { PREVIOUS_PACKAGE } = process.env

it('upgrades from the previous release, instance by instance, without a failed request', async () => {
  const isTrial = PREVIOUS_PACKAGE !== undefined
  const [old, next] = isTrial ? [[join(PREVIOUS_PACKAGE, 'snug')], here] : [here, writeNextRelease(folderForTest())]
  const pair = await Pair.open()
  const token = await ownersToken(await pair.start(0, old))
  const last = await pair.start(1, old)
  const load = new Load(pair.address, token)
  await load.more(5)

  const first = await pair.replace(0, next)
  await load.more(5)
  if (!isTrial) {
    expect(first.log()).toContain(`Upgrading the database: ${nextMigration}`)
    expect((await json(`${first.url}/api/v1/version`)).body).toEqual({ version: nextVersion })
    // The instance of the old release keeps serving, and can be restarted.
    expect((await json(`${last.url}/readyz`)).status).toBe(200)
    await pair.replace(1, old)
    await load.more(5)
  }
  await pair.replace(1, next)
  await load.more(5)
  await load.end()
  expect(load).toMatchObject({ failures: [], counts: { resets: 0 } })
  for (const { log } of pair.servers) expect(log()).not.toMatch(/ (?:ERROR|WARNING) /)
})
