import type { EntityManager } from '@mikro-orm/sql'
import type { PlaceConfig } from '../backup/place/settings.ts'
import type { SnapshotConfig } from '../backup/snapshot.ts'
import type { Config } from '../config/config.ts'
import type { StoreConfig } from '../store/open.ts'

/** What a command tells: `text` for people, `data` for scripts. `ok` is false when it found something wrong, which is exit code 1. */
export type Outcome = { text: string; data: Record<string, unknown>; ok?: boolean }

/** What the operator's commands need of the server. */
export type Operation = {
  em: EntityManager
  config: Pick<Config, 'BCRYPT_COST' | 'SERVER_URL' | 'DATA_DIR' | 'MIN_FREE_BYTES' | 'DOCS_BACKEND' | 'DOCS_PATH'> &
    SnapshotConfig &
    PlaceConfig &
    StoreConfig
}

/** Options that were given, by their names: what came with one that takes a value, else true. */
export type Options = Record<string, string | boolean | undefined>

/** An option of a command: `value` is what it takes, such as `<file>`; without one it is a switch. */
export type Option = { about: string; value?: `<${string}>` }

/** What a command tells of itself. */
export type Help = {
  name: string
  /** What follows its name, such as `<folder> [<backup>]`. */
  values?: string
  about: string
  /** What to know before, for `--help`. */
  details?: string
  options?: Record<string, Option>
  /** One or two, without what stands before every command. */
  examples: readonly [string, ...string[]]
}

/** A command that needs the database as this version left it; a server may be running. */
type WithDatabase = {
  run: (operation: Operation, values: string[], options: Options) => Promise<string | Outcome>
  /** Whether it brings the schema up to date, which needs the server to be stopped. */
  migrates?: boolean
}
/** A command for a place that may have no database yet. */
type WithSettings = { runAlone: (config: Config, values: string[], options: Options) => Promise<string | Outcome> }
/** A command that finds out for itself whether the settings can be used. */
type WithNothing = {
  runAnywhere: (environment: NodeJS.ProcessEnv | undefined, values: string[], options: Options) => Promise<string | Outcome>
}

/** A command of the operator. */
export type Command = Help & (WithDatabase | WithSettings | WithNothing)

/** The fewest and the greatest number of values that a command takes. */
export function countsOf({ values = '' }: Help): { fewest: number; greatest: number } {
  const words = values.match(/\[?<[^>]+>\]?/g) ?? []
  return { fewest: words.filter((word) => !word.startsWith('[')).length, greatest: words.length }
}

/** What came with an option that takes a value; undefined when it was not given. */
export function textIn(options: Options, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}
