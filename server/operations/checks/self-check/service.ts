import { describeConfig } from '../../../platform/config/config.ts'
import { weakSettings } from '../../../platform/config/weak.ts'
import type { Context } from '../../../platform/access/context.ts'
import { toDate } from '../../../platform/db/reads.ts'
import type { Services } from '../../../services.ts'
import { freeBytesAt } from '../../../platform/store/health.ts'
import { nameOfStore } from '../../../platform/store/open.ts'
import { checkStore, type Watched } from '../service.ts'

export type SettingFacts = { name: string; value: string; problem: string | null }

/** Returns the effective configuration with secrets masked, and explanations for values that weaken security. */
export function settingsOf({ config }: Pick<Services, 'config'>): SettingFacts[] {
  const weak = weakSettings(config)
  return describeConfig(config).map((line) => {
    const end = line.indexOf('=')
    const name = line.slice(0, end)
    return { name, value: line.slice(end + 1), problem: weak.find((setting) => setting.name === name)?.message ?? null }
  })
}

export type StorageFacts = { backend: string; path: string; problem: string | null; freeBytes: number | null }

/** Checks the archive store, and how much space is free. */
export async function storageOf(services: Watched): Promise<StorageFacts> {
  const { config } = services
  const freeBytes = config.BLOB_BACKEND === 'filesystem' ? await freeBytesAt(config.BLOB_PATH).catch(() => null) : null
  const { message } = await checkStore(services)
  return { backend: config.BLOB_BACKEND, path: nameOfStore(config), problem: message ?? null, freeBytes }
}

export type ClockFacts = { server: Date; database: Date }

/** Returns the time of the server and of the database, which determines expirations. */
export async function clocksOf({ database, now }: Pick<Services, 'database' | 'now'>): Promise<ClockFacts> {
  const sql = database.backend === 'sqlite' ? "select strftime('%s', 'now') * 1000 as moment" : 'select clock_timestamp() as moment'
  const row = await database.reads.get<{ moment: number | Date }>(sql)
  return { server: now(), database: toDate(row?.moment ?? Number.NaN) }
}

export type RequestFacts = {
  clientAddress: string
  peerAddress: string | null
  host: string | null
  forwardedFor: string | null
  forwardedProto: string | null
  isSecure: boolean
}

/** Returns the request as seen by the server, including proxy headers and whether they are trusted. */
export function requestFacts({ request, ip }: Pick<Context, 'request' | 'ip'>): RequestFacts {
  const header = (name: string) => {
    const value = request.headers[name]
    return (Array.isArray(value) ? value.join(', ') : value)?.slice(0, 500) ?? null
  }
  return {
    clientAddress: ip,
    peerAddress: request.socket.remoteAddress ?? null,
    host: header('host'),
    forwardedFor: header('x-forwarded-for'),
    forwardedProto: header('x-forwarded-proto'),
    isSecure: request.protocol === 'https',
  }
}
