import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { BlobStore } from '../blobs/store.ts'
import { type Config, ConfigError } from '../config/config.ts'
import { otherServers, silenceMs } from '../db/open/others.ts'
import type { Keys } from '../http/keys.ts'
import type { Log } from '../http/log.ts'
import { lockSetting, readSettingIn, type Setting, writeSetting } from '../settings/service.ts'
import { idOfDatabase } from '../store/identity.ts'
import { nameOfStore } from '../store/open.ts'
import { differences, type Facts, facts, factsOf } from './agreement.ts'

type Instances = Record<string, Facts | null>

/** What each instance wrote when it started, by the name of its connections. What another release wrote may have another form: null. */
const instances: Setting<Instances> = { key: 'instances', schema: z.record(z.string(), facts.nullable().catch(null)), initial: {} }

type Surroundings = { config: Config; keys: Keys; log: Pick<Log, 'warning'> }

/**
 * Records what this instance and others must agree on. Of instances that start at once, one waits for the other. An SQLite file has one server.
 * @throws ConfigError when a running instance has another JWT_SECRET, SERVER_URL or archive store, unless INSTANCES_MAY_DIFFER permits that.
 */
export async function registerInstance(em: EntityManager, { config, keys, log }: Surroundings): Promise<void> {
  if (config.DB_BACKEND === 'sqlite') return
  const own = factsOf(config, keys)
  await em.transactional(async (inner) => {
    const recorded = await lockSetting(inner, instances)
    const running = await runningOf(inner, recorded)
    accept([...new Set(Object.values(running).flatMap((other) => (other ? differences(own, other) : [])))], { config, log })
    const [row] = await inner.execute<{ name: string }[]>("select current_setting('application_name') as name")
    await writeSetting(inner, instances, { ...running, ...(row && { [row.name]: own }) })
  })
}

/**
 * Refuses an archive store that no server on this database has used, although others are running: a folder of the same name on another machine.
 * @throws ConfigError unless INSTANCES_MAY_DIFFER permits that.
 */
export async function requireSharedStore(em: EntityManager, blobs: BlobStore, { config, log }: Omit<Surroundings, 'keys'>): Promise<void> {
  if (config.DB_BACKEND === 'sqlite' || (await idOfDatabase(em)) === null) return
  const until = Date.now() + markingMs
  while ((await blobs.identity()) === null) {
    if ((await otherServers(em)).length === 0) return
    // An instance that started at the same moment may be about to mark it.
    if (Date.now() < until) await sleep(100)
    else
      return accept([`${nameOfStore(config)} is not the archive store of the instances that are running on this database.`], {
        config,
        log,
      })
  }
}

/** How the instances that are running disagree with these settings. */
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
  'The server does not start: instances on one database need the same settings. To change one, stop all instances, or set ' +
  'INSTANCES_MAY_DIFFER=true while they are replaced one by one; a new JWT_SECRET needs the old one in JWT_SECRET_PREVIOUS instead. An instance ' +
  `whose machine was lost counts as running for ${silenceMs / 1000} seconds.`
