import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { BlobStore } from '../../platform/blobs/store.ts'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { db } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { otherServers, silenceMs } from '../../platform/db/open/servers.ts'
import { hmac, type Keys, validKeys } from '../../platform/http/keys.ts'
import type { Log } from '../../platform/http/log.ts'
import { lockSetting, readSettingIn, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { readStoreId } from '../../platform/store/identity.ts'
import { nameOfStore } from '../../platform/store/open.ts'
import { nameOfBucket } from '../../platform/blobs/s3/settings.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'

/** Settings that all instances on a database must share. `keys` are fingerprints of JWT_SECRET and JWT_SECRET_PREVIOUS. */
type Facts = z.infer<typeof facts>
const facts = z.object({ keys: z.array(z.string()).min(1), address: z.string(), store: z.string() })

type Instances = Record<string, Facts | null>

/** Settings that each instance recorded at startup, by the application name of its connections. Null for a format of another release. */
const instances: Setting<Instances> = { key: 'instances', schema: z.record(z.string(), facts.nullable().catch(null)), initial: {} }

type Surroundings = { config: Config; keys: Keys; log: Pick<Log, 'warning'> }

/**
 * Records the settings that instances must share, under a lock. SQLite supports only one instance. Throws ConfigError if those
 * of a running instance differ, unless INSTANCES_MAY_DIFFER is set.
 */
export async function registerInstance(em: EntityManager, { config, keys, log }: Surroundings): Promise<void> {
  if (config.DB_BACKEND === 'sqlite') return
  const own = factsOf(config, keys)
  await em.transactional(async (inner) => {
    const recorded = await lockSetting(inner, instances)
    const running = await runningOf(inner, recorded)
    accept([...new Set(Object.values(running).flatMap((other) => (other ? differences(own, other) : [])))], { config, log })
    const row = await readRow(
      inner,
      db.selectNoFrom(({ fn, val }) => fn<string>('current_setting', [val('application_name')]).as('name')),
    )
    await writeSetting(inner, instances, { ...running, ...(row && { [row.name]: own }) })
  })
}

/**
 * Throws ConfigError if other servers run on this database but none has used this archive store, such as a folder of the same
 * name on another machine, unless INSTANCES_MAY_DIFFER is set.
 */
export async function requireSharedStore(em: EntityManager, blobs: BlobStore, { config, log }: Omit<Surroundings, 'keys'>): Promise<void> {
  if (config.DB_BACKEND === 'sqlite' || (await readStoreId(em)) === null) return
  const until = Date.now() + markingMs
  while ((await blobs.identity()) === null) {
    if ((await otherServers(em)).length === 0) return
    // An instance that started concurrently may be about to mark the store.
    if (Date.now() < until) await sleep(100)
    else return accept([`${nameOfStore(config)} is not the archive store of the running instances with this database.`], { config, log })
  }
}

/** Compares the settings with those of running instances. */
export async function disagreements(em: EntityManager, config: Config, keys: Keys): Promise<{ running: number; problems: string[] }> {
  const running = Object.values(await runningOf(em, await readSettingIn(em, instances)))
  const own = factsOf(config, keys)
  return { running: running.length, problems: [...new Set(running.flatMap((other) => (other ? differences(own, other) : [])))] }
}

const markingMs = 5000

async function runningOf(em: EntityManager, recorded: Instances): Promise<Instances> {
  const names = (await otherServers(em)).map(({ name }) => name)
  return Object.fromEntries(names.flatMap((name) => (name in recorded ? [[name, recorded[name] ?? null]] : [])))
}

function accept(problems: string[], { config, log }: Omit<Surroundings, 'keys'>): void {
  if (problems.length === 0) return
  if (config.INSTANCES_MAY_DIFFER) return problems.forEach((problem) => log.warning(problem))
  throw new ConfigError([...problems, advice])
}

const advice =
  'The server cannot start: all instances with one database need the same settings. To change one, stop all instances, or set ' +
  'INSTANCES_MAY_DIFFER=true during a rolling replacement. For a new JWT_SECRET, set JWT_SECRET_PREVIOUS to the old one instead. An instance ' +
  `on a failed machine counts as running for ${silenceMs / 1000} seconds.`

/** Returns the settings of an instance that must be the same on all instances. */
const factsOf = (config: Config, keys: Keys): Facts => ({
  keys: validKeys(keys).map(({ fingerprint }) => hmac(fingerprint, 'instance')),
  address: hostedHere(config),
  store: storeOf(config),
})

/** Identifies the archive store of an instance for comparison. */
function storeOf(config: Config): string {
  if (config.BLOB_BACKEND === 'filesystem') return config.BLOB_PATH
  return `${nameOfBucket(config)}${config.S3_ENDPOINT === undefined ? '' : ` at ${new URL(config.S3_ENDPOINT).host}`}`
}

/** Describes the differences between two instances, one sentence per setting, from the perspective of the first. Contains no secrets. */
function differences(own: Facts, other: Facts): string[] {
  const elsewhere = 'on another running instance with this database'
  return [
    haveCommonKey(own.keys, other.keys)
      ? []
      : `JWT_SECRET: differs from the one ${elsewhere}. Each would reject the sessions of the other.`,
    own.address === other.address ? [] : `SERVER_URL: is ${own.address} here, but ${other.address} ${elsewhere}.`,
    own.store === other.store ? [] : `The archive store is ${own.store} here, but ${other.store} ${elsewhere}.`,
  ].flat()
}

/** Whether at least one instance accepts signatures of the other. During a rotation, the previous key of one is the current key of the other. */
const haveCommonKey = ([own = '', ...ownPrevious]: string[], [other = '', ...othersPrevious]: string[]): boolean =>
  own === other || ownPrevious.includes(other) || othersPrevious.includes(own)
